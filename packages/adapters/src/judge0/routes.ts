/** Judge0's interface: submissions with tokens, one by one and in batches, and its lists of languages and statuses. */
import type { JobDetail } from '@vouchbox/protocol';
import { isTerminal } from '@vouchbox/protocol/vocabulary';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Adapter, AdapterParts } from '../adapter.ts';
import { AdapterError, refusals } from '../adapter-error.ts';
import { listOf, objectOf } from '../request-body.ts';
import { type Ended, endedJob, messageOf, submitted } from '../run-program.ts';
import { judge0Language, languageOfNumber } from './languages.ts';
import { STATUSES, type StatusNumber, statusNumbered, statusOf } from './statuses.ts';
import { submissionOf, type TextForm } from './submission.ts';
import { parseToken, spellToken } from './token.ts';

const batchMax = 20;

/** What an answer has if the caller names no fields. */
const DEFAULT_FIELDS = ['stdout', 'time', 'memory', 'stderr', 'token', 'compile_output', 'message', 'status'];

export const judge0: Adapter = {
  keyHeader: 'x-auth-token',
  routes: (app, parts) => {
    addLists(app, parts);
    addSubmissions(app, parts);
    addBatches(app, parts);
  },
  invalidStatus: 422,
  errorBody: ({ message, member }) => (member === null ? { error: message } : { [member]: [message] }),
};

function addLists(app: FastifyInstance, { languages }: AdapterParts): void {
  app.get('/languages', async () => (await languages.offered()).map(judge0Language));
  app.get<{ Params: { id: string } }>('/languages/:id', async ({ params }) => {
    const language = languageOfNumber(Number(params.id), await languages.offered());
    if (language === undefined) throw new AdapterError(404, 'there is no such language here');
    return { ...judge0Language(language), id: Number(params.id), is_archived: false };
  });
  app.get('/statuses', async () =>
    Object.keys(STATUSES).map((number) => statusNumbered(Number(number) as StatusNumber)),
  );
  app.get('/about', async () => ({
    version: (await languages.capabilities()).version,
    homepage: null,
    source_code: null,
  }));
}

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
    await refusals(parts.client.waitForResult(parseToken(token).job_id));
    return await answer(token, query, parts);
  });
  app.get<{ Params: { token: string } }>('/submissions/:token', async (request) =>
    answer(request.params.token, queryOf(request), parts),
  );
}

function addBatches(app: FastifyInstance, parts: AdapterParts): void {
  app.post('/submissions/batch', async (request, reply) => {
    const submissions = listOf(objectOf(request.body), 'submissions');
    if (submissions.length > batchMax) throw new AdapterError(400, `at most ${batchMax} submissions are taken at once`);
    const form = formOf(queryOf(request));
    reply.status(201);
    return await Promise.all(
      submissions.map(async (submission) => {
        try {
          return { token: await submit(objectOf(submission, 'submissions'), form, parts) };
        } catch (error) {
          if (error instanceof AdapterError) return judge0.errorBody(error);
          throw error;
        }
      }),
    );
  });
  app.get('/submissions/batch', async (request) => {
    const query = queryOf(request);
    const tokens = (query['tokens'] ?? '').split(',').filter((token) => token !== '');
    if (tokens.length > batchMax) throw new AdapterError(400, `at most ${batchMax} tokens are taken at once`);
    return { submissions: await Promise.all(tokens.map((token) => answer(token, query, parts))) };
  });
}

async function submit(body: ReturnType<typeof objectOf>, form: TextForm, parts: AdapterParts): Promise<string> {
  const { program, languageNumber, expectedDigest } = submissionOf(body, form, await parts.languages.offered());
  const job_id = await submitted(parts, program);
  return spellToken({ job_id, languageNumber, expectedDigest });
}

async function answer(text: string, query: Query, parts: AdapterParts): Promise<Record<string, unknown>> {
  const members = await membersOf(text, formOf(query), parts);
  const asked = query['fields'];
  if (asked === '*') return members;
  const names = asked === undefined ? DEFAULT_FIELDS : asked.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !Object.hasOwn(members, name));
  if (unknown !== undefined) throw new AdapterError(400, `invalid field: ${unknown}`);
  return Object.fromEntries(names.map((name) => [name, members[name]]));
}

async function membersOf(text: string, form: TextForm, { client }: AdapterParts): Promise<Record<string, unknown>> {
  const { job_id, languageNumber, expectedDigest } = parseToken(text);
  const detail = await refusals(client.detail(job_id)).catch((error: AdapterError) => {
    throw error.status === 404 ? new AdapterError(404, 'there is no submission with this token') : error;
  });
  const ended = isTerminal(detail.status) ? await endedOrProblem(client, detail) : null;
  const number = ended === null ? (detail.status === 'queued' ? 1 : 2) : numberOf(ended, expectedDigest);
  const { code, stdin } = detail.requested_spec;
  return {
    token: text,
    language_id: languageNumber,
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
async function endedOrProblem(client: AdapterParts['client'], detail: JobDetail): Promise<Ended | Problem> {
  try {
    return await endedJob(client, detail);
  } catch (error) {
    if (error instanceof AdapterError) return { problem: error.message };
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
  const didCompile = ended.kind !== 'compile_failed';
  return {
    stdout: didCompile ? spelled(ended.stdout || null, form) : null,
    stderr: didCompile ? spelled(ended.stderr || null, form) : null,
    compile_output: didCompile ? null : spelled(ended.stderr, form),
    message: spelled(messageOf(ended) || null, form),
    exit_code: ended.exitCode,
    exit_signal: ended.signal,
    time: seconds(ended.cpuMilliseconds),
    wall_time: seconds(ended.wallMilliseconds),
    memory: ended.memoryBytes === null ? null : Math.ceil(ended.memoryBytes / 1024),
  };
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
