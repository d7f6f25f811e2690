/** What the writer's thread of a store on PostgreSQL is started with, beside what every thread of a store is. */
import type { ThreadData } from '../../threads/messages.ts';
import type { PostgresStep } from '../migrations/steps.ts';

export interface PostgresThreadData extends ThreadData {
  /** The steps to the schema of this program, as plain data. */
  readonly steps?: readonly PostgresStep[];
}
