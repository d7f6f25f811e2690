/** The values that the writer's thread of a store on PostgreSQL starts with, beside those of every thread of a store. */
import type { ThreadData } from '../../threads/messages.ts';
import type { PostgresStep } from '../migrations/steps.ts';

export interface PostgresThreadData extends ThreadData {
  /** The steps to the schema of this program, as plain data. */
  readonly steps?: readonly PostgresStep[];
}
