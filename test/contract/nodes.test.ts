/** Two nodes of one service: either node answers for the whole service. */
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JobSubmission } from '@vouchbox/protocol';
import { openCredentials } from '@vouchbox/server';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { WebSocket } from 'ws';
import { Session } from '../../packages/server/src/store/postgres/connection.ts';
import { openPostgresStore } from '../../packages/server/src/store/postgres/open.ts';
import { dropSchema, newSchema } from '../../packages/server/src/store/postgres/schema.fixture.ts';
import { newKey, runJob } from '../../packages/server/src/store/store.fixture.ts';
import { POSTGRES_SAME_THREAD } from '../../packages/server/src/store/threads.fixture.ts';
import { Rig, type RigSettings } from '../rig/rig.ts';
import { AnsweringStream, callingPython, openCalls } from '../rig/tool-programs.ts';

let url: string;
let one: Rig;
let other: Rig;

const NODE: RigSettings = { provider: 'subprocess', concurrency: '1', 'attestation-mode': 'on' };

/** Makes a data directory with this rig's signing keys. A node with that directory signs with the same key. */
function directoryLike(rig: Rig): string {
  const directory = mkdtempSync(join(tmpdir(), 'svc-rig-'));
  cpSync(join(rig.dataDir, 'attestation-keys'), join(directory, 'attestation-keys'), { recursive: true });
  return directory;
}

beforeAll(async () => {
  url = await newSchema(inject('postgresUrl'));
  one = await Rig.start({ ...NODE, 'database-url': url });
  other = await Rig.start({ ...NODE, 'database-url': url }, directoryLike(one));
});

afterAll(async () => {
  expect([...(await one.stop()), ...(await other.stop())]).toEqual([]);
  await dropSchema(url);
});

const sleeper = { language: 'bash', code: 'echo started; sleep 300', limits: { wall_seconds: 300 } } as const;

/** Starts a program on a node, and resolves once the program's output at that node shows that the program runs. */
async function running(rig: Rig): Promise<string> {
  const { client } = rig.alpha;
  const { job_id } = await client.submit(sleeper);
  for await (const { kind } of client.follow(job_id)) if (kind === 'stdout') break;
  return job_id;
}

/** How many jobs each living node runs or has taken, in ascending order. */
async function held(): Promise<number[]> {
  await using session = await Session.open(url, {});
  const sql = 'select count(claims.job_id)::int as jobs from nodes left join claims using (node) group by node';
  const { rows } = await session.execute<{ jobs: number }>({ sql, parameters: [] });
  return rows.map(({ jobs }) => jobs).toSorted((few, many) => few - many);
}

test('a job sent to a busy node runs on another node, and a wait at the busy node gets the job’s result', async () => {
  const first = await running(one);
  const second = await running(one);
  expect(await held()).toEqual([1, 1]);
  await other.alpha.client.cancel(second);
  expect((await one.ended(second)).result).toMatchObject({ status: 'cancelled', stdout: 'started\n' });
  await other.alpha.client.cancel(first);
  expect((await other.ended(first)).result.status).toBe('cancelled');
});

/** Makes the store say that a living node has claimed the job. The node does not know of this claim. */
async function giveTo(job_id: string): Promise<void> {
  await using session = await Session.open(url, {});
  const sql = `insert into claims (tenant, job_id, node) select 'alpha', '${job_id}', min(node) from nodes
    on conflict (tenant, job_id) do update set node = excluded.node`;
  await session.execute({ sql, parameters: [] });
}

test('a queued job runs even if the node that has claimed it does not know of the claim', async () => {
  const sleeping = [await running(one), await running(one)];
  const { job_id } = await one.alpha.client.submit({ language: 'bash', code: 'echo found' });
  await giveTo(job_id);
  for (const each of sleeping) await one.alpha.client.cancel(each);
  expect((await one.ended(job_id)).result).toMatchObject({ status: 'succeeded', stdout: 'found\n' });
});

test('a running job ends as an error if the node that has claimed it does not know of the claim', async () => {
  const key = newKey('alpha');
  await using third = await openPostgresStore({
    url,
    check: 'off',
    onProblem: () => {},
    threads: POSTGRES_SAME_THREAD,
  });
  await runJob(third, key);
  await giveTo(key.job_id);
  expect((await other.ended(key.job_id)).detail).toMatchObject({
    status: 'error',
    terminal_reason: 'server_restarted',
  });
});

test('a caller at one node sees each tool call of a program on another node, and answers it once', {
  tags: ['Tools-6', 'Tools-8'],
}, async () => {
  const code =
    'for n in range(5): print(call("search", n=n)["result"])\nbegin("search"); begin("search"); print({told()["call"] for n in range(2)})';
  // The only slot of the node `one` is taken, so the next job runs on the other node.
  const busy = await running(one);
  const { job_id } = await one.alpha.client.submit(callingPython(code));
  const stream = await AnsweringStream.open(one, job_id);
  for (let at = 1; at <= 5; at++) stream.send({ call_seq: (await stream.event('tool_call', at)).seq, result: at });
  const last = await stream.event('tool_call', 6);
  const calls = async (rig: Rig) => (await openCalls(rig, job_id, last.seq)).map(({ seq }) => seq);
  const [next = 0] = await calls(one);
  expect(await calls(other)).toEqual([next]);
  const answers = await Promise.allSettled(
    [one, other, one, other].map(({ alpha }, at) => alpha.client.answerToolCall(job_id, last.seq, { result: at })),
  );
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  await one.alpha.client.answerToolCall(job_id, next, { result: 1 });
  const { result, events } = await one.ended(job_id);
  expect(result.stdout).toBe('1\n2\n3\n4\n5\n{6, 7}\n');
  expect(events.filter(({ kind }) => kind === 'tool_result')).toHaveLength(7);
  await one.alpha.client.cancel(busy);
});

test('a job is followed live at one node while it runs on the other', async () => {
  const code = 'for n in 1 2 3; do echo $n; sleep 0.2; done';
  const { job_id } = await one.alpha.client.submit({ language: 'bash', code });
  const [here, there] = await Promise.all(
    [one, other].map(async ({ alpha }) => await Array.fromAsync(alpha.client.follow(job_id))),
  );
  expect(there).toEqual(here);
  expect(here?.map(({ seq }) => seq)).toEqual(here?.map((_, at) => at + 1));
  expect(here?.at(-1)?.kind).toBe('finished');
});

test('a stream ticket opens one stream, at any node', async () => {
  const { job_id } = (await one.run({ language: 'bash', code: 'true' })) ?? {};
  const { json } = await one.request(`/v1/jobs/${job_id}/stream-ticket`, { method: 'POST' });
  const opened = async (rig: Rig) => {
    const socket = new WebSocket(rig.service.url.replace('http', 'ws') + (json.stream_url as string));
    const answer = await new Promise<string>((resolve) => {
      socket.on('open', () => resolve('open')).on('error', () => resolve('refused'));
    });
    socket.terminate();
    return answer;
  };
  expect([await opened(other), await opened(one), await opened(other)]).toEqual(['open', 'refused', 'refused']);
});

test('submissions with one idempotency key make one job, whichever nodes they are sent to', async () => {
  const body = { language: 'bash', code: 'echo once' };
  const headers = { 'idempotency-key': 'the-same' };
  const answers = await Promise.all([one, other, one, other].map((rig) => rig.post(body, { headers })));
  expect(new Set(answers.map(({ json }) => json.job_id as string)).size).toBe(1);
  expect(answers.filter((answer) => answer.headers.get('idempotency-replayed') === 'false')).toHaveLength(1);
});

test('one of a session’s concurrent steps is accepted, and every node continues from that step’s state', {
  tags: ['Sessions-9'],
}, async () => {
  const first = await (await one.alpha.client.session('shared')).run('xs = [0]');
  let after: string = first.job_id;
  for (let round = 1; round < 5; round++) {
    const body: JobSubmission = {
      language: 'python',
      code: `xs.append(${round})\nprint(xs)`,
      session: { name: 'shared', after },
    };
    const answers = await Promise.all([one, other, one, other].map((rig) => rig.post(body)));
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused.map(({ status, json }) => [status, json.error.code as string])).toEqual(
      Array(3).fill([409, 'session_conflict']),
    );
    after = String(answers.find(({ status }) => status === 201)?.json.job_id);
    const { stdout } = await (round % 2 === 0 ? one : other).alpha.client.waitForResult(after);
    expect(stdout).toBe(`${JSON.stringify(Array.from({ length: round + 1 }, (_, at) => at)).replaceAll(',', ', ')}\n`);
  }
  expect((await other.alpha.client.session('shared')).lastJob).toBe(after);
});

test('once a key is revoked at one node, the other node refuses it too', async () => {
  await using operator = await openCredentials({ dataDir: one.dataDir, databaseUrl: url });
  const { key, credential_id } = await operator.create({
    tenant: 'alpha',
    principal: null,
    scopes: null,
    expires_at: null,
  });
  const status = async () => (await other.request('/v1/whoami', { key })).status;
  expect(await status()).toBe(200);
  await operator.revoke({ credential_id });
  expect(await status()).toBe(401);
});

test('every node serves the attestation that one node signed', async () => {
  const { job_id } = await one.run({ language: 'bash', code: 'echo signed' });
  const envelope = async (rig: Rig) => await rig.request(`/v1/jobs/${job_id}/attestation`);
  await expect.poll(async () => (await envelope(one)).status).toBe(200);
  const [here, there] = [await envelope(one), await envelope(other)];
  expect(there.text).toBe(here.text);
});

/** For each living node, oldest first: why the node cannot sign, as it reports itself; null if it can sign. */
async function signingProblems(): Promise<(string | null)[]> {
  await using session = await Session.open(url, {});
  const { rows } = await session.execute<{ problem: string | null }>({
    sql: `select facts::json #>> '{signing_problem,message}' as problem from nodes order by node`,
    parameters: [],
  });
  return rows.map(({ problem }) => problem);
}

const keyOf = (rig: Rig) => join(rig.dataDir, 'attestation-keys/signing-key.pem');
const hide = (rig: Rig) => renameSync(keyOf(rig), `${keyOf(rig)}.away`);
const bringBack = (rig: Rig) => renameSync(`${keyOf(rig)}.away`, keyOf(rig));

test('while the signing node has no key, another node signs', async () => {
  const signed = async () => {
    const { job_id } = await one.run({ language: 'bash', code: 'true' });
    await expect.poll(async () => (await one.request(`/v1/jobs/${job_id}/attestation`)).status).toBe(200);
  };
  hide(one);
  await signed();
  expect(await signingProblems()).toEqual(['the signing key is missing', null]);
  for (const rig of [one, other]) expect((await rig.request('/v1/status')).json.signer.last_error).toBe(null);
  bringBack(one);
  await expect.poll(signingProblems).toEqual([null, null]);
  hide(other);
  await signed();
  hide(one);
  const { job_id } = await one.run({ language: 'bash', code: 'true' });
  await expect.poll(signingProblems).toEqual(['the signing key is missing', 'the signing key is missing']);
  const lastError = async () => (await other.request('/v1/status')).json.signer.last_error as unknown;
  await expect.poll(lastError).toBe('the signing key is missing');
  bringBack(other);
  await expect.poll(async () => (await one.request(`/v1/jobs/${job_id}/attestation`)).status).toBe(200);
  bringBack(one);
  await expect.poll(signingProblems).toEqual([null, null]);
});

test('a node without the service’s signing key does not start, and says to copy attestation-keys', async () => {
  const refusal = await Rig.start({ ...NODE, 'database-url': url }).catch((error: Error) => error);
  expect(refusal).toMatchObject({
    name: 'StartError',
    message: expect.stringMatching(/^this node has no signing key, and the service signs with sha256:/) as unknown,
    hint: expect.stringContaining('copy the directory attestation-keys') as unknown,
  });
});

test('only one node sends the wake-up for a waiting job, and the job’s followers learn of its end', async () => {
  await using session = await Session.open(url, {});
  const asked = async <Row>(sql: string) => (await session.execute<Row & object>({ sql, parameters: [] })).rows;
  const channels = await asked<{ name: string }>(
    `select 'vouchbox_' || md5(current_schema()) || suffix as name from (
       select '' as suffix union all select '_n' || node from nodes) as channels`,
  );
  const told: string[] = [];
  session.onMessage((payload) => told.push(payload));
  for (const { name } of channels) await session.listen(name);
  const [first, second] = [await running(one), await running(one)];
  const { job_id: waiting } = await one.alpha.client.submit({ language: 'bash', code: 'true' });
  const topic = createHash('sha256').update(`end ${waiting}`).digest('hex').slice(0, 20);
  await session.listen(`${channels.find(({ name }) => !name.includes('_n'))?.name}_${topic}`);
  for (const job_id of [first, second]) await one.alpha.client.cancel(job_id);
  await one.ended(waiting);
  await expect.poll(() => told.join('\n')).toContain(`end ${waiting}`);
  const wakers = told.filter((payload) => payload.includes('\nqueue 3')).map((payload) => payload.split('\n')[0]);
  expect(new Set(wakers).size).toBe(1);
});
