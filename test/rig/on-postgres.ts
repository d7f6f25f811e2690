/** Runs before each test file in which services have their stores on the run's PostgreSQL server. */
import { inject } from 'vitest';
import { useDatabaseServer } from './database.ts';

useDatabaseServer(inject('postgresUrl'));
