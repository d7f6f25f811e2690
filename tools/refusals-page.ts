/**
 * Makes docs/REFUSALS.md: every code, reason and exit code that a caller can see. They come from the code's tables, with their
 * statuses and numbers. The advice for each is in this file, and the file does not compile if any advice is missing.
 */
import { ERROR_CODES, ERRORS, type ErrorCode, type TerminalReason, VIOLATION_TYPES } from '@vouchbox/protocol';
import { EXIT, EXPORT_EXIT, MONITOR_EXIT } from '../packages/cli/src/failures/exit-code.ts';
import { EXIT as VERIFY_EXIT } from '../packages/verifier/src/exit-code.ts';

const WAIT = 'Wait for `Retry-After`, then send it again.';
const OPERATOR = 'Ask the operator.';

const OF_CODES: Readonly<Record<ErrorCode, string>> = {
  invalid_request: 'Correct the member that the message names.',
  invalid_json: 'Send one JSON value without doubled names or text after it.',
  unsupported_language: 'Take one of `GET /v1/capabilities`.',
  network_not_allowed: 'Give the program its data as files, or [tools](AGENTS.md).',
  unauthorized: 'Send `Authorization: Bearer KEY` with a key that is not revoked.',
  insufficient_scope: 'Ask the operator for a key with the scope that the message names.',
  principal_not_allowed:
    'Use a key of the principal that submitted the job. A submission may name others that answer its calls.',
  job_not_found: 'Compare the id and the key: jobs of other tenants look unknown, and old ones are removed.',
  tool_call_not_found: 'Read the calls that wait, and answer one of those.',
  grading_not_found: 'Compare the id and the key.',
  links_disabled: 'Export the job in place of a link, or ask the operator to set `SERVICE_LINKS`.',
  link_not_found: 'Ask whoever gave you the link for another: this one was revoked, or its time, key or job has ended.',
  session_not_found: 'Begin the session with its first step.',
  blob_not_found: 'Upload the file again.',
  route_not_found: 'Compare the path. A node without the role `api` answers so to every call.',
  attestation_unavailable: 'Ask again in a moment. If it stays, see `last_error` of `GET /v1/status`.',
  attestation_disabled: OPERATOR,
  log_proof_unavailable: 'Ask again in a moment.',
  not_logged: 'Nothing: this job will not be in a log.',
  promise_unavailable: 'Ask again in a moment.',
  not_promised: 'Ask for the promise when you submit.',
  canary_not_found: 'Fetch the canary while it is kept.',
  signing_key_unknown: 'Let the operator start a node whose directory has the key.',
  method_not_allowed: 'Take a method of the header `Allow`.',
  body_timeout: 'Send the body without a pause.',
  job_not_terminal: 'Wait for the end, by `wait_seconds`.',
  job_terminal: 'Nothing: it is over.',
  tool_call_answered: 'Nothing: the first answer counts.',
  session_conflict: 'Read where the session stands, and go on from there.',
  payload_too_large: 'Send less, or upload files by digest.',
  unsupported_media_type: 'Send `Content-Type: application/json`.',
  expectation_failed: 'Send no `Expect` but `100-continue`.',
  runtime_unavailable: 'Take one of `GET /v1/capabilities`. The operator: `vouchbox doctor`.',
  minimum_isolation_unsatisfied: 'Demand less, or ask another service. Nothing ran.',
  enforcement_unsatisfied: 'Demand fewer limits, or ask another service. Nothing ran.',
  promise_not_offered: 'Submit without a promise, or ask a service that keeps a log.',
  blob_unavailable: 'Upload the file, then submit again.',
  input_unavailable: 'Wait for the end of the other job, and compare the name of its output.',
  tool_result_misfit: 'Answer again with a result that fits the schema.',
  digest_mismatch: 'Compute the SHA-256 of what you send, and send it there.',
  idempotency_key_reused: 'Take a new key for another job or grading.',
  rate_limited: WAIT,
  tenant_capacity_exhausted: WAIT,
  head_too_large: 'Send fewer or shorter headers.',
  internal: 'Send it again with the same `Idempotency-Key`. Tell the operator the `request_id`.',
  queue_full: WAIT,
  capacity_exhausted: WAIT,
  store_unavailable: WAIT,
  issuer_unavailable: WAIT,
  worker_unavailable: `${WAIT} The operator: \`vouchbox doctor\`.`,
  shutting_down: WAIT,
  insufficient_storage: 'Let the operator make room, then send it again.',
};

const OF_ENDS: Readonly<Record<TerminalReason, readonly [status: string, meaning: string]>> = {
  exited: ['`succeeded`, `failed`', 'The program ended by itself. `exit_code` is its own.'],
  signaled: ['`failed`', 'A signal ended the program, such as `SIGSEGV`.'],
  compile_failed: ['`failed`', 'The compiler refused it. Its messages are in `stderr`.'],
  wall_limit: ['`timed_out`', 'It took longer than `wall_seconds`.'],
  cpu_limit: ['`timed_out`', 'It used more than `cpu_seconds`.'],
  memory_limit: ['`oom_killed`', 'It used more than `mem_mb`.'],
  cancelled: ['`cancelled`', 'Somebody cancelled it.'],
  bootstrap_failed: ['`error`', 'Its cell could not be made. Nothing ran: submit it again.'],
  isolation_unsatisfied: ['`error`', 'Its cell proved less than was demanded. Nothing ran.'],
  runtime_failed: ['`error`', 'What makes cells failed while it ran. Submit it again.'],
  server_restarted: ['`error`', 'The service died while it ran. It is not run again by itself.'],
  server_shutdown: ['`error`', 'The service was stopped while it ran.'],
  internal_error: ['`error`', 'The service failed. Tell the operator the job.'],
};

const OF_VIOLATIONS: Readonly<Record<(typeof VIOLATION_TYPES)[number], string>> = {
  wall_time: 'Raise `wall_seconds`, or do less.',
  cpu_time: 'Raise `cpu_seconds`, or do less.',
  memory: 'Raise `mem_mb`, or hold less.',
  pids: 'Raise `max_pids`, or start fewer processes and threads.',
  file_size: 'Raise `max_file_mb`, or write smaller files.',
  syscall: 'Do without the call that the filter refused.',
  output_missing: 'Write the file that was asked for.',
  output_kind: 'Write a plain file: no link, no directory, no pipe.',
  output_size: 'Write a smaller file, or ask for it as a large output.',
  output_path: 'Give the file a name without control characters and backslashes.',
  output_count: 'Write fewer files.',
  compile: 'Read the messages of the compiler.',
  tool_call_size: 'Call the tool with less.',
  tool_total_size: 'Make fewer or smaller calls.',
  tool_calls: 'Make fewer calls.',
  tool_protocol: 'Write one JSON text in each line of descriptor 31.',
};

type Codes = Readonly<Record<string, number>>;
type Said<Table extends Codes> = Readonly<Record<keyof Table, string>>;

const OF_RUN: Said<typeof EXIT> = {
  ok: 'Done. Of `run`: the program succeeded',
  failed:
    'It could not be done. Of `run`: the program failed with 1, or an output did not come back. Of `grade`: not accepted',
  usage: 'The command line is wrong',
  timedOut: 'Of `run`: a time limit ended the program',
  notRun: 'Of `run`: the program did not run, or its end is unknown. Of `grade`: there is no verdict',
  cancelled: 'It was cancelled or interrupted',
  outOfMemory: 'Of `run`: the memory limit ended the program',
};

const OF_EXPORT: Said<typeof EXPORT_EXIT> = {
  ok: 'The directory is written',
  failed: 'Here: the directory could not be written',
  usage: 'The command line is wrong',
  refused: 'The service does not give the job: it has none, has not signed it, or may not',
  unanswered: 'No answer came, or it broke off. Try again',
  wrongAnswer: 'The answer of the service does not fit what was asked',
  cancelled: 'It was interrupted. Nothing is left of the directory',
};

const OF_MONITOR: Said<typeof MONITOR_EXIT> = {
  ok: 'The log only grew',
  failed: 'It could not be done',
  usage: 'The command line is wrong',
  unanswered: 'An address of the last round did not answer',
  cheated: 'The log contradicts what was seen of it',
};

const OF_VERIFY: Said<typeof VERIFY_EXIT> = {
  good: 'Good',
  usage: 'The command line is wrong, or a file cannot be read. Nothing was verified',
  signature: 'No pinned key signed this, or a pinned key is malformed',
  subject: 'The signature is about another result',
  profile: 'It is of another type, job or tenant, or contradicts itself',
  policy: 'The signature is good, and the result is not what you require',
  record: 'History, receipt and files contradict one another, or one is missing: something was changed',
  notAnExport: 'The directory is no export. Nothing was verified',
  internal: 'The verifier itself failed',
};

/** The text of the page. */
export function refusalsPage(): string {
  return `# What you are told, and what to do

<!-- \`npm run openapi\` writes this page, from the tables of the code. -->

Search this page for the word that you see. [The API](API.md#refusals) shows the form of a refusal, and
[Answers](operating/answers.md) says what an operator can do.

## Codes of refusals

| code | status | what it means | again later? | what to do |
|---|---|---|---|---|
${ERROR_CODES.map(rowOfCode).join('\n')}

## How a job ends: \`terminal_reason\`

| reason | status | what it means |
|---|---|---|
${Object.entries(OF_ENDS)
  .map(([reason, [status, meaning]]) => `| \`${reason}\` | ${status} | ${meaning} |`)
  .join('\n')}

## What a job did not get: \`violations\`

| type | what to do |
|---|---|
${VIOLATION_TYPES.map((type) => `| \`${type}\` | ${OF_VIOLATIONS[type]} |`).join('\n')}

## Exit codes of \`vouchbox\`

\`vouchbox run\` ends with the program's own code. Any other number is a signal's, and 128. [The command](COMMAND.md#exit-codes) says more.

${exitTable(EXIT, OF_RUN)}

## Exit codes of \`vouchbox export\`

${exitTable(EXPORT_EXIT, OF_EXPORT)}

## Exit codes of \`vouchbox monitor\`

${exitTable(MONITOR_EXIT, OF_MONITOR)}

## Exit codes of \`service-verify\`

\`vouchbox reproduce\` ends with these too. [Verifying](VERIFYING.md#is-this-the-result-that-was-signed) says what each shows.

${exitTable(VERIFY_EXIT, OF_VERIFY)}
`;
}

function rowOfCode(code: ErrorCode): string {
  const { status, meaning, retryable } = ERRORS[code];
  return `| \`${code}\` | ${status} | ${meaning} | ${retryable ? 'yes' : 'no'} | ${OF_CODES[code]} |`;
}

function exitTable<Table extends Codes>(codes: Table, said: Said<Table>): string {
  const rows = Object.entries(codes).map(([name, code]) => `| ${code} | ${said[name as keyof Table]} |`);
  return ['| code | what it means |', '|---|---|', ...rows].join('\n');
}
