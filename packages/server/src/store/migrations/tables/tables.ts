/**
 * The tables of both kinds of store, as `schema.ts` describes them. The tenant comes first in every key and foreign key, so that
 * the tables can be distributed by tenant. Some keys have no tenant: credentials are looked up by their id alone, and probes and
 * the log's tree belong to the whole store.
 *
 * A large column comes last in its table, so that the other columns can be read without it.
 */
import { byteTables } from './bytes.ts';
import { gradingTables } from './gradings.ts';
import { jobTables } from './jobs.ts';
import { logTables } from './log.ts';
import { type Spelling, spelled } from './spelling.ts';
import { tenantTables } from './tenants.ts';

/** Each group of tables refers only to groups before it. */
const TABLES = `${jobTables}${tenantTables}${byteTables}${gradingTables}${logTables}`;

export function tablesIn(spelling: Spelling): string {
  return spelled(TABLES, spelling);
}
