/** Runs before each file of tests whose services have their stores on the server of the run. */
import { inject } from 'vitest';
import { useDatabaseServer } from './database.ts';

useDatabaseServer(inject('postgresUrl'));
