// Loaded before a node: makes it a node of the next version. That version's schema has further steps.
import { NEXT_STEPS } from '../../packages/server/src/store/postgres/migrations/next-version.fixture.ts';
import { STEPS } from '../../packages/server/src/store/postgres/migrations/steps.ts';

STEPS.push(...NEXT_STEPS.slice(STEPS.length));
