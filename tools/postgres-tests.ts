/** The test files that run on PostgreSQL: some test every store, some only stores on PostgreSQL, and some the contract. */
const STORE = 'packages/server/src/store';

/** What the tests' forms run on PostgreSQL: all tests of the store, and those of the contract that most depend on the store. */
export const ON_POSTGRES = [
  `${STORE}/{access,blobs,copying,evidence,gradings,history,jobs,log,objects,reading,tools,postgres}/**/*.test.ts`,
  `${STORE}/{injection,lifecycle}.test.ts`,
  'test/contract/{cancellation,database-gone,gradings-nodes,idempotency,labels,list}.test.ts',
  'test/contract/{nodes,replay,roles,start-waits,tools,tools-stream}.test.ts',
  'test/deploy/pods.test.ts',
  'test/log/nodes.test.ts',
];

/** The tests that run only on PostgreSQL. */
export const ONLY_POSTGRES = [
  `${STORE}/{copying,postgres}/**/*.test.ts`,
  'test/contract/{database-gone,gradings-nodes,nodes,roles,start-waits}.test.ts',
  'test/deploy/pods.test.ts',
  'test/log/nodes.test.ts',
];

/** Tests of the store that do not run on PostgreSQL: some are about files, and some are not about a store. */
export const NOT_ON_POSTGRES = [
  `${STORE}/access/audit.test.ts`,
  `${STORE}/history/{compressed,output-run,packed-history}.test.ts`,
  `${STORE}/jobs/whole-spec.test.ts`,
];

/** The contract's tests that do not run on PostgreSQL: some are about a store's file, and some are not about a store. */
export const CONTRACT_NOT_ON_POSTGRES = [
  'test/contract/{administration,backup,restore,serve,sessions-kept,upgrade,witnesses}.test.ts',
  'test/contract/{hostile-service,locked-packs,new-pack,pack-languages,program-surroundings,program-words}.test.ts',
];

/** The set-up of tests on PostgreSQL. */
export const POSTGRES_SETUP = {
  globalSetup: ['test/rig/postgres-of-the-run.ts'],
  setupFiles: ['packages/server/test/on-postgres.ts', 'test/rig/on-postgres.ts'],
};
