/** The page's script. It runs twice: as the page, and as the thread that checks. */
import { serveChecks } from './check/check-worker.ts';
import { openPage } from './page.ts';

if (typeof document === 'undefined') serveChecks();
else openPage();
