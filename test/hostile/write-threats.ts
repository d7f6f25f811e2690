/** Writes the table of cases into docs/THREATS.md. */
import { writeFileSync } from 'node:fs';
import { THREATS, threatsDocument } from './threats-table.ts';

writeFileSync(THREATS, threatsDocument());
