/** The values that the writer's thread of a store on PostgreSQL starts with, beside those of every thread of a store. */
import type { ThreadData } from '../../threads/messages.ts';
import type { MigrateOptions } from '../migrations/migrate.ts';

export interface PostgresThreadData extends ThreadData, Pick<MigrateOptions, 'steps'> {}
