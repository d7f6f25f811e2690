/** Facts from elsewhere about a verified statement: its place in the log, and what its canary shows. */
import { type CanaryStanding, noCanary } from './canary.ts';
import { type LogStanding, notLogged } from './log-standing.ts';

export interface Beside {
  readonly log: LogStanding;
  readonly canary: CanaryStanding;
}

export const nothingBeside: Beside = { log: notLogged, canary: noCanary };
