// Loaded before a node: makes it one of the version after this one, with the planted steps of the schema.
import { NEXT_STEPS } from '../../packages/server/src/store/postgres/migrations/next-version.fixture.ts';
import { STEPS } from '../../packages/server/src/store/postgres/migrations/steps.ts';

STEPS.push(...NEXT_STEPS.slice(STEPS.length));
