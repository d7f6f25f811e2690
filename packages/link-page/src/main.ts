/** The script of the page. It runs twice, like the script of the verify page: as the page, and as the thread that checks. */
import { serveChecks } from '@vouchbox/verify-page';
import { openPage } from './page.ts';

if (typeof document === 'undefined') serveChecks();
else openPage();
