/** The steps that both kinds of store take after `0004-schema`, each of the kind `expand`. */
import { type Spelling, spelled } from './0004-tables.ts';
import { findOutputs } from './0004-with-used-outputs.ts';
import { gradingTables } from './0004-with-verdicts.ts';
import { largeOutputs } from './0004-with-whole-outputs.ts';
import { builds } from './0004-with-whole-programs.ts';
import { statements } from './0004-with-whole-statements.ts';
import { logTables } from './0004-with-written-log.ts';
import { promiseTables } from './0004-without-lost-promises.ts';
import { toolTables } from './0004-without-silent-tools.ts';
import { writtenBeside } from './0004-written-beside.ts';
import { sessions } from './0004-written-sessions.ts';
import { labels } from './0004-written-with-labels.ts';
import { links } from './0004-written-with-links.ts';
import { lists } from './0004-written-with-lists.ts';
import type { Step } from './steps.ts';

/** The SQL of each step. A word in braces is a name of the spelling. */
const STEPS = {
  '0004-with-used-outputs': findOutputs,
  '0004-with-verdicts': gradingTables,
  '0004-with-whole-outputs': largeOutputs,
  '0004-with-whole-programs': builds,
  '0004-with-whole-statements': statements,
  '0004-with-written-log': logTables,
  '0004-without-lost-promises': promiseTables,
  '0004-without-silent-tools': toolTables,
  '0004-written-beside': writtenBeside,
  '0004-written-sessions': sessions,
  '0004-written-with-labels': labels,
  '0004-written-with-links': links,
  '0004-written-with-lists': lists,
};

export function stepsOfBoth(spelling: Spelling): readonly Step[] {
  return Object.entries(STEPS).map(([name, sql]) => ({ name, sql: spelled(sql, spelling) }));
}
