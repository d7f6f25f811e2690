/** Runs before each file of the project `postgres`: its stores are on the server of the run. */
import { inject } from 'vitest';
import { useServer } from '../src/store/store.fixture.ts';

useServer(inject('postgresUrl'));
