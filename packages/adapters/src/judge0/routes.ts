/** Judge0's interface: submissions with tokens, one by one and in batches. `lists.ts` has the answers about Judge0 itself. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Adapter, AdapterParts } from '../adapter.ts';
import { AdapterError, adapterErrorOf, isServices } from '../adapter-error.ts';
import { listOf, objectOf } from '../request-body.ts';
import { ofProgram, type Ran, runProgram, submitted } from '../run-program.ts';
import { answerOf } from './answer.ts';
import { addLists, batchMax } from './lists.ts';
import { type Judge0Submission, submissionOf, type TextForm } from './submission.ts';
import { spellToken } from './token.ts';

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
    const [body, form] = [objectOf(request.body), formOf(query)];
    reply.status(201);
    if (!isTrue(query['wait'])) return { token: await submit(body, form, parts) };
    const given = await submissionIn(body, form, parts);
    const ran = await runProgram(parts, given.program);
    return await answer(tokenOf(given, ofProgram(ran).job_id), query, parts, ran);
  });
  // Judge0 forbids these routes too, unless an operator set a token for them.
  app.get('/submissions', forbidden);
  app.delete('/submissions/:token', forbidden);
  app.get<{ Params: { token: string } }>('/submissions/:token', async (request) =>
    answer(request.params.token, queryOf(request), parts),
  );
}

async function forbidden(): Promise<never> {
  throw new AdapterError(403, 'forbidden here: only the service may list or remove submissions');
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

/** @throws AdapterError if the batch is empty or has too many submissions */
function inBatch<Item>(items: readonly Item[]): readonly Item[] {
  if (items.length === 0) throw new AdapterError(400, 'there should be at least one submission in a batch');
  if (items.length <= batchMax) return items;
  throw new AdapterError(400, `number of submissions in a batch should be less than or equal to ${batchMax}`);
}

/** Submits one submission of a batch. A failure is the answer to this submission only; the others still get tokens. */
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

type GivenBody = ReturnType<typeof objectOf>;

async function submit(body: GivenBody, form: TextForm, parts: AdapterParts): Promise<string> {
  const given = await submissionIn(body, form, parts);
  return tokenOf(given, await submitted(parts, given.program));
}

async function submissionIn(body: GivenBody, form: TextForm, { languages }: AdapterParts): Promise<Judge0Submission> {
  const { features } = await languages.capabilities();
  return submissionOf(body, form, { offered: await languages.offered(), hasBuilds: features.includes('builds') });
}

function tokenOf({ languageNumber, expectedDigest }: Judge0Submission, job_id: string): string {
  return spellToken({ job_id, languageNumber, expectedDigest });
}

function answer(token: string, query: Query, { client }: AdapterParts, ran?: Ran) {
  return answerOf(client, { token, form: formOf(query), fields: query['fields'], ran });
}
