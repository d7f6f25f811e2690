/** `npm run api-docs`: writes docs/API.md from the contract, and records its examples again with a real service. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiPage } from './api-page/page.ts';
import { recordExchanges } from './api-page/record.ts';

writeFileSync(join(import.meta.dirname, '../docs/API.md'), apiPage(await recordExchanges()));
