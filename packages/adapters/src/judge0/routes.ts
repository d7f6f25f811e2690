/** Judge0's interface: submissions with tokens, one by one and in batches. What it says of itself is in `lists.ts`. */
import type { FoldedResult, JobDetail } from '@vouchbox/protocol';
import { isTerminal } from '@vouchbox/protocol/vocabulary';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Adapter, AdapterParts } from '../adapter.ts';
import { AdapterError, adapterErrorOf, isServices, refusals } from '../adapter-error.ts';
import { listOf, objectOf } from '../request-body.ts';
import { type Ended, endedJob, messageOf, submitted } from '../run-program.ts';
import { usualNumber } from './languages.ts';
import { addLists, batchMax } from './lists.ts';
import { type StatusNumber, statusNumbered, statusOf } from './statuses.ts';
import { submissionOf, type TextForm } from './submission.ts';
import { parseToken, spellToken } from './token.ts';

/** What an answer has if the caller names no fields. */
const DEFAULT_FIELDS = ['stdout', 'time', 'memory', 'stderr', 'token', 'compile_output', 'message', 'status'];

export const judge0: Adapter = {
  keyHeader: 'x-auth-token',
  routes: (app, parts) => {
    addLists(app, parts);
    addSubmissions(app, parts);
    addBatches(app, parts);
  },
  statusOf: ({ status, member }) => (status === 400 && member !== null ? 422 : status),
  errorBody: ({ message, member }) => (member === null ? { error: message } : { [member]: [message] }),
};

type Query = Readonly<Record<string, string | undefined>>;
const queryOf = ({ query }: FastifyRequest) => query as Query;
const isTrue = (value: string | undefined) => value === 'true' || value === '1';
const formOf = (query: Query): TextForm => (isTrue(query['base64_encoded']) ? 'base64' : 'plain');

function addSubmissions(app: FastifyInstance, parts: AdapterParts): void {
  app.post('/submissions', async (request, reply) => {
    const query = queryOf(request);
    const token = await submit(objectOf(request.body), formOf(query), parts);
    reply.status(201);
    if (!isTrue(query['wait'])) return { token };
    const result = await refusals(parts.client.waitForResult(parseToken(token).job_id));
    return await answer(token, query, parts, result);
  });
  // Judge0 forbids these routes too, unless an operator set a token for them.
  app.get('/submissions', forbidden);
  app.delete('/submissions/:token', forbidden);
  app.get<{ Params: { token: string } }>('/submissions/:token', async (request) =>
    answer(request.params.token, queryOf(request), parts),
  );
}

async function forbidden(): Promise<never> {
  throw new AdapterError(403, 'not allowed here: submissions are listed and removed by the service alone');
}

function addBatches(app: FastifyInstance, parts: AdapterParts): void {
  app.post('/submissions/batch', async (request, reply) => {
    const submissions = inBatch(listOf(objectOf(request.body), 'submissions'));
    const form = formOf(queryOf(request));
    const made = await Promise.all(submissions.map((submission) => submitOne(submission, form, parts)));
    const refused = made.filter((one) => one instanceof AdapterError);
    const failure = refused.find(isServices);
    const isNone = refused.length === made.length;
    if (isNone && failure !== undefined) throw failure;
    for (const error of refused) parts.noteFailure(request, error);
    reply.status(isNone ? 422 : 201);
    return made.map((one) => (one instanceof AdapterError ? judge0.errorBody(one) : one));
  });
  app.get('/submissions/batch', async (request) => {
    const query = queryOf(request);
    const tokens = inBatch((query['tokens'] ?? '').split(',').filter((token) => token !== ''));
    return { submissions: await Promise.all(tokens.map((token) => answerIfThere(token, query, parts))) };
  });
}

/** @throws AdapterError for a batch of too many, or of none */
function inBatch<Item>(items: readonly Item[]): readonly Item[] {
  if (items.length === 0) throw new AdapterError(400, 'there should be at least one submission in a batch');
  if (items.length <= batchMax) return items;
  throw new AdapterError(400, `number of submissions in a batch should be less than or equal to ${batchMax}`);
}

/** What was made of one submission: its error stands in its place, and the tokens of the others are kept. */
async function submitOne(given: unknown, form: TextForm, parts: AdapterParts): Promise<object> {
  try {
    return { token: await submit(objectOf(given, 'submissions'), form, parts) };
  } catch (error) {
    return adapterErrorOf(error);
  }
}

async function answerIfThere(token: string, query: Query, parts: AdapterParts) {
  try {
    return await answer(token, query, parts);
  } catch (error) {
    if (error instanceof AdapterError && error.status === 404) return null;
    throw error;
  }
}

async function submit(body: ReturnType<typeof objectOf>, form: TextForm, parts: AdapterParts): Promise<string> {
  const { program, languageNumber, expectedDigest } = submissionOf(body, form, await parts.languages.offered());
  const job_id = await submitted(parts, program);
  return spellToken({ job_id, languageNumber, expectedDigest });
}

/** @param read the result, if the caller has it already */
async function answer(
  text: string,
  query: Query,
  parts: AdapterParts,
  read?: FoldedResult,
): Promise<Record<string, unknown>> {
  const members = await membersOf(text, formOf(query), { ...parts, read });
  const names = (query['fields'] ?? '').split(',').flatMap((name) => name.trim() || []);
  if (names.includes('*')) return members;
  const unknown = names.filter((name) => !Object.hasOwn(members, name));
  if (unknown.length > 0) throw new AdapterError(400, `invalid fields: [${unknown.join(', ')}]`);
  return Object.fromEntries((names.length === 0 ? DEFAULT_FIELDS : names).map((name) => [name, members[name]]));
}

async function membersOf(
  text: string,
  form: TextForm,
  { client, read }: AdapterParts & { readonly read: FoldedResult | undefined },
): Promise<Record<string, unknown>> {
  const { job_id, languageNumber, expectedDigest } = parseToken(text);
  const detail = await refusals(client.detail(job_id)).catch((error: AdapterError) => {
    throw error.status === 404 ? new AdapterError(404, 'there is no submission with this token') : error;
  });
  const ended = isTerminal(detail.status) ? await endedOrProblem(client, detail, read) : null;
  const number = ended === null ? (detail.status === 'queued' ? 1 : 2) : numberOf(ended, expectedDigest);
  const { code, stdin } = detail.requested_spec;
  return {
    token: text,
    language_id: languageNumber ?? usualNumber(detail.language),
    source_code: spelled(code ?? null, form),
    stdin: spelled(stdin ?? null, form),
    created_at: detail.created_at,
    finished_at: detail.finished_at,
    status_id: number,
    status: statusNumbered(number),
    ...outcomeOf(ended, form),
  };
}

interface Problem {
  readonly problem: string;
}

/** A job of which nothing ran is an internal error there, not a failed request. */
async function endedOrProblem(
  client: AdapterParts['client'],
  detail: JobDetail,
  read: FoldedResult | undefined,
): Promise<Ended | Problem> {
  try {
    return await endedJob(client, detail, read);
  } catch (error) {
    // A request without an answer says nothing about the job.
    if (error instanceof AdapterError && error.cause === undefined) return { problem: error.message };
    throw error;
  }
}

function numberOf(ended: Ended | Problem, expectedDigest: string | null): StatusNumber {
  return 'problem' in ended ? 13 : statusOf(ended, expectedDigest);
}

function outcomeOf(ended: Ended | Problem | null, form: TextForm): Record<string, unknown> {
  if (ended === null || 'problem' in ended) {
    const message = ended === null ? null : spelled(ended.problem, form);
    return { ...NO_OUTCOME, message };
  }
  const didCompile = ended.stage === 'run';
  return {
    stdout: didCompile ? spelled(ended.stdout || null, form) : null,
    stderr: didCompile ? spelled(ended.stderr || null, form) : null,
    compile_output: didCompile ? null : spelled(ended.stderr || compilerLimit(ended), form),
    message: spelled(messageOf(ended) || null, form),
    exit_code: ended.exitCode,
    exit_signal: ended.signal,
    time: seconds(ended.cpuMilliseconds),
    wall_time: seconds(ended.wallMilliseconds),
    memory: ended.memoryBytes === null ? null : Math.ceil(ended.memoryBytes / 1024),
  };
}

/** A compiler that a limit ended has often written nothing. */
function compilerLimit(ended: Ended): string {
  return ended.kind === 'time_limit' ? 'Compilation time limit exceeded.' : messageOf(ended);
}

const NO_OUTCOME = {
  stdout: null,
  stderr: null,
  compile_output: null,
  exit_code: null,
  exit_signal: null,
  time: null,
  wall_time: null,
  memory: null,
};

function seconds(milliseconds: number | null): string | null {
  return milliseconds === null ? null : (milliseconds / 1000).toFixed(3);
}

function spelled(text: string | null, form: TextForm): string | null {
  return text === null || form === 'plain' ? text : Buffer.from(text).toString('base64');
}
