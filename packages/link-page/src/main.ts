/** The page's script. Like the script of the verify page, it runs twice: as the page, and as the thread that checks. */
import { serveChecks } from '@vouchbox/verify-page';
import { openPage } from './page.ts';

if (typeof document === 'undefined') serveChecks();
else openPage();
