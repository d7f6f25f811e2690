/** Runs before each test file whose services have their stores on the run's PostgreSQL server. */
import { inject } from 'vitest';
import { useDatabaseServer } from './database.ts';

useDatabaseServer(inject('postgresUrl'));
