/**
 * The features of a job that are tried at every place: the rows of the matrix. The code has lists, for example of languages
 * and limits. Each of their entries has a row here, and a new entry without a row does not compile.
 */
import type { GradeOptions } from '@vouchbox/client';
import type {
  JobSubmission,
  Language,
  LimitName,
  OperationId,
  PageId,
  TerminalReason,
  TerminalStatus,
  VIOLATION_TYPES,
} from '@vouchbox/protocol';

/** The rows, in their order. */
export const FEATURES = [
  'upload',
  'from_job',
  'session',
  'tools',
  'labels',
  'large_output',
  'by_digest',
  'named_stdin',
  'glob',
  'pair',
  'stdin',
  'args',
  'env',
  'reproducible',
  'typescript',
  'compiled_pack',
  'built',
  'library_pack',
  'libraries',
  'wall_seconds',
  'cpu_seconds',
  'mem_mb',
  'max_pids',
  'max_file_mb',
  'failed',
  'compile_failed',
  'truncated',
  'cancelled',
  'crash',
  'key_rotated',
  'signing_off',
  'canaried',
  'promised',
  'graded',
  'interactive',
  'packaged',
  'repeated',
  'links',
  'evidence',
  'listed',
  'counted',
  'foreign_names',
] as const;
export type Feature = (typeof FEATURES)[number];

/** The test file for a feature that has no row of its own. */
type Elsewhere = `${'test' | 'packages'}/${string}.ts`;

/** Every limit has a row with its name. */
const LIMIT_ROWS: { readonly [Name in LimitName]: Name } = {
  wall_seconds: 'wall_seconds',
  cpu_seconds: 'cpu_seconds',
  mem_mb: 'mem_mb',
  max_pids: 'max_pids',
  max_file_mb: 'max_file_mb',
};

/** Every member of a submission is tried in a row. */
const MEMBER_ROWS: Readonly<Record<keyof Required<JobSubmission>, Feature | Elsewhere>> = {
  language: 'typescript',
  code: 'typescript',
  stdin: 'stdin',
  files: 'upload',
  args: 'args',
  env: 'env',
  outputs: 'glob',
  large_outputs: 'by_digest',
  runtime: 'library_pack',
  requirements: 'test/contract/submission.test.ts',
  limits: 'wall_seconds',
  reproducible: 'reproducible',
  interactor: 'pair',
  build: 'built',
  product: 'built',
  promise: 'promised',
  labels: 'labels',
  sign_labels: 'labels',
  tools: 'tools',
  tool_limits: 'test/contract/tools.test.ts',
  tool_principals: 'test/contract/tools.test.ts',
  session: 'session',
  libraries: 'libraries',
};

/** Every language is tried in a row, or in the tests of the packs. */
const LANGUAGE_ROWS: Readonly<Record<Language, Feature | Elsewhere>> = {
  python: 'large_output',
  node: 'env',
  bash: 'args',
  typescript: 'typescript',
  cpp: 'compiled_pack',
  c: 'test/contract/pack-languages.test.ts',
  ruby: 'test/contract/pack-languages.test.ts',
  php: 'test/contract/pack-languages.test.ts',
  lua: 'test/contract/pack-languages.test.ts',
  r: 'test/contract/pack-languages.test.ts',
  java: 'test/contract/pack-languages.test.ts',
};

/** Every status of an ended job is tried in a row. */
const STATUS_ROWS: Readonly<Record<TerminalStatus, Feature>> = {
  succeeded: 'glob',
  failed: 'failed',
  timed_out: 'wall_seconds',
  oom_killed: 'mem_mb',
  cancelled: 'cancelled',
  error: 'crash',
};

/** Every reason why a job ended is tried in a row, or in the tests that cause it. */
const REASON_ROWS: Readonly<Record<TerminalReason, Feature | Elsewhere>> = {
  exited: 'failed',
  signaled: 'max_file_mb',
  compile_failed: 'compile_failed',
  wall_limit: 'wall_seconds',
  cpu_limit: 'cpu_seconds',
  memory_limit: 'mem_mb',
  cancelled: 'cancelled',
  server_restarted: 'crash',
  bootstrap_failed: 'test/contract/serve.test.ts',
  isolation_unsatisfied: 'packages/server/src/job/dispatch/dispatcher.test.ts',
  runtime_failed: 'test/contract/hung-launcher.test.ts',
  server_shutdown: 'test/contract/shutdown.test.ts',
  internal_error: 'test/crash/fault-sweep.ts',
};

/** For each violation, the row that tries it, or the file with the tests that cause it. */
const VIOLATION_ROWS: Readonly<Record<(typeof VIOLATION_TYPES)[number], Feature | Elsewhere>> = {
  wall_time: 'wall_seconds',
  cpu_time: 'cpu_seconds',
  memory: 'mem_mb',
  pids: 'max_pids',
  file_size: 'max_file_mb',
  compile: 'compile_failed',
  output_path: 'foreign_names',
  output_missing: 'test/contract/artifacts.test.ts',
  output_kind: 'test/contract/artifacts.test.ts',
  output_size: 'test/contract/artifacts.test.ts',
  output_count: 'packages/server/src/sandbox/program/output/outputs-below.test.ts',
  syscall: 'test/hostile/escape-kernel.ts',
  tool_call_size: 'packages/server/src/sandbox/program/tools/tool-channel.test.ts',
  tool_total_size: 'packages/server/src/sandbox/program/tools/tool-channel.test.ts',
  tool_calls: 'packages/server/src/sandbox/program/tools/tool-channel.test.ts',
  tool_protocol: 'packages/server/src/sandbox/program/tools/tool-channel.test.ts',
};

/** Every operation on a job or file is tried in a row. Operations on the service are tried in the named test files. */
const OPERATION_ROWS: Readonly<Record<OperationId, Feature | Elsewhere>> = {
  submitJob: 'repeated',
  getJob: 'failed',
  getResult: 'large_output',
  cancelJob: 'cancelled',
  replayEvents: 'truncated',
  mintStreamTicket: 'cancelled',
  streamEvents: 'cancelled',
  putBlob: 'upload',
  getBlob: 'upload',
  listToolCalls: 'tools',
  answerToolCall: 'tools',
  submitGrading: 'graded',
  listGradings: 'graded',
  getGrading: 'graded',
  cancelGrading: 'test/contract/gradings.test.ts',
  gradingEvents: 'test/contract/gradings.test.ts',
  createLink: 'links',
  listLinks: 'links',
  revokeLink: 'links',
  listSessions: 'test/contract/sessions.test.ts',
  getSession: 'session',
  removeSession: 'test/contract/sessions.test.ts',
  getAttestation: 'key_rotated',
  getResultArtifact: 'key_rotated',
  getLogProof: 'test/contract/log.test.ts',
  getPromise: 'test/contract/promise.test.ts',
  getPending: 'test/contract/promise.test.ts',
  getCanary: 'test/contract/canaries.test.ts',
  getPublicKey: 'key_rotated',
  listJobs: 'listed',
  getHealth: 'test/contract/service.test.ts',
  getReadiness: 'test/contract/service.test.ts',
  getContract: 'test/contract/openapi.test.ts',
  getCapabilities: 'test/contract/service.test.ts',
  getWhoami: 'test/contract/access.test.ts',
  getStatus: 'counted',
  getTenantMetrics: 'test/contract/metrics.test.ts',
  getMetrics: 'test/contract/metrics.test.ts',
};

/** Every page that a service serves, and every file besides the pages, is tried in a row or in the tests of its subject. */
const PAGE_ROWS: Readonly<Record<PageId, Feature | Elsewhere>> = {
  getFrontPage: 'packages/server/src/http/routes/pages.test.ts',
  getDashboard: 'evidence',
  getDashboardView: 'evidence',
  getDashboardFile: 'evidence',
  getDocs: 'test/browser/docs-site.test.ts',
  getDocsPage: 'test/browser/docs-site.test.ts',
  getDocsFile: 'test/browser/docs-site.test.ts',
  getLinkPage: 'links',
  getLinkedJob: 'links',
  getLinkedResult: 'links',
  getLinkedAttestation: 'links',
  getLinkedResultArtifact: 'links',
  getLinkedBlob: 'test/browser/links.test.ts',
  getLogCheckpoint: 'test/contract/log.test.ts',
  getLogKeys: 'test/contract/log.test.ts',
  getLogTile: 'test/contract/log.test.ts',
  getLogLeafProof: 'test/contract/log.test.ts',
  getLogConsistency: 'test/contract/log.test.ts',
  getVerifyPage: 'evidence',
};

/** Every option of a grading is tried in a row, or in the named test file. */
const GRADING_ROWS: Readonly<Record<keyof Required<GradeOptions>, Feature | Elsewhere>> = {
  tests: 'graded',
  limits: 'wall_seconds',
  runtime: 'library_pack',
  language: 'typescript',
  signal: 'cancelled',
  minimumIsolation: 'test/contract/grade.test.ts',
  checker: 'test/contract/grade.test.ts',
  interactor: 'interactive',
  validators: 'test/contract/grade.test.ts',
  groups: 'packaged',
  stop: 'test/contract/grade.test.ts',
  idempotencyKey: 'test/contract/gradings.test.ts',
  onTest: 'test/contract/grade.test.ts',
};

/** Every list in the code whose entries need rows, with each entry's row. */
export const ROWS_OF_THE_CODE: Readonly<Record<string, Readonly<Record<string, Feature | Elsewhere>>>> = {
  limits: LIMIT_ROWS,
  members: MEMBER_ROWS,
  languages: LANGUAGE_ROWS,
  statuses: STATUS_ROWS,
  reasons: REASON_ROWS,
  violations: VIOLATION_ROWS,
  operations: OPERATION_ROWS,
  pages: PAGE_ROWS,
  gradings: GRADING_ROWS,
};
