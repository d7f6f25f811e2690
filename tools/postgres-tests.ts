/** The test files that run on PostgreSQL: tests of every store, of this kind of store, and of the contract on it. */
const STORE = 'packages/server/src/store';

/** What the forms of the tests run on PostgreSQL: all tests of the store, and the contract's tests that most depend on it. */
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

/** The tests that are about files or not about a store. */
export const NOT_ON_POSTGRES = [
  `${STORE}/access/audit.test.ts`,
  `${STORE}/history/{compressed,output-run,packed-history}.test.ts`,
  `${STORE}/jobs/whole-spec.test.ts`,
];

/** The contract's test files that are about a store's file or not about a store. */
export const CONTRACT_NOT_ON_POSTGRES = [
  'test/contract/{administration,backup,restore,serve,sessions-kept,upgrade,witnesses}.test.ts',
  'test/contract/{hostile-service,locked-packs,new-pack,pack-languages,program-surroundings,program-words}.test.ts',
];

/** The set-up of tests on PostgreSQL. */
export const POSTGRES_SETUP = {
  globalSetup: ['test/rig/postgres-of-the-run.ts'],
  setupFiles: ['packages/server/test/on-postgres.ts', 'test/rig/on-postgres.ts'],
};
