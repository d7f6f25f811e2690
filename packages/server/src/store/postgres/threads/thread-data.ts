/** What the writer's thread of a store on PostgreSQL gets at its start, besides what every store thread gets. */
import type { ThreadData } from '../../threads/messages.ts';
import type { MigrateOptions } from '../migrations/migrate.ts';

export interface PostgresThreadData extends ThreadData, Pick<MigrateOptions, 'steps'> {}
