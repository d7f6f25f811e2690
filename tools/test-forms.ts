/**
 * Which test files each form of the tests has. `npm test` is the short form: it shows every statement and every attack once, and
 * takes some minutes. `npm run long` has the rest: the same promises in more places, and larger sizes. Without a form, as in
 * `npx vitest run FILE`, a run may have any file, with its slow tests; with `TEST_FORM=whole` also with the largest sizes.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** All test files. */
export const TEST_FILES = ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts'];

const SERVER = 'packages/server/src';

/** The files that only the long form has. `test/architecture` proves that each of these names is a file. */
export const ONLY_LONG = [
  // Pages in a real browser, except those of the dashboard.
  'test/browser/{docs-site,evidence,gradings,links,log,tools,verify-page}.test.ts',
  // Several nodes, nodes that are killed, and launchers that hang.
  'test/contract/{gradings-nodes,hung-launcher,nodes,object-store-process,sessions-kept}.test.ts',
  `${SERVER}/store/postgres/{migrations/takeover,migrations/upgrade,plans,two-nodes,writing-session}.test.ts`,
  `${SERVER}/store/postgres/threads/group-commit.test.ts`,
  `${SERVER}/store/{copying/copy-to-postgres,crash,reading/long-texts}.test.ts`,
  'test/crash/{gradings,orphans}.test.ts',
  'test/deploy/{files,helm,pods,user-container}.test.ts',
  // Cells, in every class.
  `${SERVER}/sandbox/cell/{fixed-seeds,guest/node-ends,loopback,ordinary-programs,python-ends,tools/modules,unanswered}.test.ts`,
  `${SERVER}/sandbox/classes/namespace/{launcher,separation}.test.ts`,
  `${SERVER}/sandbox/kernel/{seccomp/system-calls,user-namespace/one-user-cells}.test.ts`,
  `${SERVER}/sandbox/{native/native,packs/build/install-locked,packs/telling-pack,parked/parked-classes}.test.ts`,
  `${SERVER}/sandbox/program/{interaction,tools/tool-channel,watch/watch}.test.ts`,
  'test/programs/programs.test.ts',
  // Packs that are built while a service runs, and the doctor on hosts that lack something.
  'test/contract/new-pack.test.ts',
  'packages/cli/src/{doctor,operator/packs}.test.ts',
  `${SERVER}/sandbox/prove/doctor/doctor.test.ts`,
  // Check-lists of changes: each is carried out in a copy of the tree.
  'test/architecture/check-lists.test.ts',
  'test/crossings/planted.test.ts',
  // Evidence, checked by every command and by the programs of others.
  'test/contract/{attestation-keys,export-graph,export-uploads,grade-evidence,grade-keys,monitor,reproduce}.test.ts',
  'test/interoperability/{log-bundles,log-notes,service,verifier-cases}.test.ts',
  'packages/verifier/src/graph-directory.test.ts',
  // Commands and clients with features that other files show over HTTP.
  'test/contract/{adapter-builds,adapters,client-scenarios,client-tools,grade,grade-compiled,grade-interactive}.test.ts',
  'test/contract/{link-command,login,many-jobs,mcp,mcp-grade,mcp-tools-from,object-store,restore,run-libraries}.test.ts',
  'test/contract/{run-session,run-tools,start-waits,testlib,tools-replay,tutorial}.test.ts',
  `${SERVER}/{objects/s3-object-store,job/tools/schema-checks,telemetry/traces}.test.ts`,
  // Documents whose examples run.
  'test/contract/{agents-document,client-readme,readme}.test.ts',
  // The whole list of attacks on the runtime without a starter.
  'test/hostile/runsc.test.ts',
];

/** The attacks: both forms have these files, and the long form tries more. Other such files import from `test/rig/form.ts`. */
const LONGER = ['test/hostile/{crun,gvisor}.test.ts'];
const asksForForm = /^import \{.*\b(?:isLongForm|isShortForm|slowTest)\b.*rig\/form/m;

export type Form = 'short' | 'long' | 'whole';

/** The form of this run; null if it has none. */
export const form = formOf(process.env['TEST_FORM']);

function formOf(name: string | undefined): Form | null {
  if (!name) return null;
  if (name === 'short' || name === 'long' || name === 'whole') return name;
  throw new Error(`TEST_FORM is short, long or whole, and not ${name}`);
}

/** The test files of a form, as paths from the root; all files without one. */
export function filesOfForm(root: string, wanted = form): Set<string> {
  const found = (patterns: readonly string[]) => new Set(globSync([...patterns], { cwd: root }));
  const every = found(TEST_FILES);
  if (wanted === null || wanted === 'whole') return every;
  if (wanted === 'short') return every.difference(found(ONLY_LONG));
  const asking = [...every].filter((file) => asksForForm.test(readFileSync(join(root, file), 'utf8')));
  return found([...ONLY_LONG, ...LONGER]).union(new Set(asking));
}
