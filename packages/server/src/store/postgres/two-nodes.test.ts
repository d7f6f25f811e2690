/** Two nodes on one store: two stores in this process that share a schema. */
import { sha256Hex } from '@vouchbox/evidence';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import type { Added } from '../records/answers.ts';
import type { Abilities } from '../records/inputs.ts';
import { anyPackOf, withTools } from '../records/rows.ts';
import {
  admission,
  admitJob,
  attestationOf,
  choice,
  EXECUTION,
  finishOf,
  newKey,
  runJob,
  SPEC,
  startOf,
  stdout,
} from '../store.fixture.ts';
import type { Store } from '../store.ts';
import type { StoreError } from '../store-error.ts';
import { POSTGRES_SAME_THREAD } from '../threads.fixture.ts';
import { Session } from './connection.ts';
import { PostgresFleet } from './fleet.ts';
import { openPostgresStore } from './open.ts';
import { proxyTo } from './proxy.fixture.ts';
import { dropSchema, newSchema } from './schema.fixture.ts';

let url: string;
beforeEach(async () => {
  url = await newSchema(inject('postgresUrl'));
});
afterEach(() => dropSchema(url));

/** The store has threads of its own only if the test is about a node that ends. */
function node(instance: string | null = null, threads: 'own' | 'shared' = 'shared'): Promise<Store> {
  const sides = threads === 'own' ? {} : { threads: POSTGRES_SAME_THREAD };
  return openPostgresStore({ url, check: 'off', onProblem: () => {}, instance, ...sides });
}

async function operate(sql: string): Promise<readonly object[]> {
  await using session = await Session.open(url, {});
  return (await session.execute<object>({ sql, parameters: [] })).rows;
}

const ABLE = {
  languages: ['python'],
  packs: [],
  isolation: ['none', 'linux-shared-kernel'],
  memMbMax: 512,
} as const;

function asked(limit: number) {
  return choice({ exclude: [], limit, abilities: ABLE });
}

async function ids(store: Store, limit: number): Promise<string[]> {
  return (await store.queuedJobs(asked(limit))).jobs.map(({ job_id }) => job_id);
}

test('each queued job is taken once, by only one of two nodes', async () => {
  await using one = await node();
  await using other = await node();
  const admitted: string[] = [];
  for (let at = 0; at < 40; at++) admitted.push((await admitJob(one, newKey(`t${at % 3}`))).job_id);
  const taken: string[] = [];
  while (taken.length < admitted.length) {
    const both = await Promise.all([ids(one, 3), ids(other, 3)]);
    if (both.flat().length === 0) break;
    taken.push(...both.flat());
  }
  expect(taken.toSorted()).toEqual(admitted.toSorted());
  expect(await ids(other, 3)).toEqual([]);
});

test('a node cannot start a job that another node has taken, unless the other gives the job back', async () => {
  await using one = await node();
  await using other = await node();
  const key = await admitJob(one);
  expect(await ids(one, 1)).toEqual([key.job_id]);
  expect(await other.start(startOf(key))).toBe(false);
  await one.fleet?.releaseJobs([key]);
  expect(await ids(other, 1)).toEqual([key.job_id]);
  expect(await one.start(startOf(key))).toBe(false);
  expect(await other.start(startOf(key))).toBe(true);
});

test("a node of an older version does not take a job with tools, and a newer node gets the job's language and pack", {
  tags: ['Tools-1'],
}, async () => {
  await using store = await node();
  const limits = { calls: 1, call_bytes: 99, total_bytes: 99 };
  const tools = { tools: [{ name: 't' }], answered_by: ['p'], limits };
  const keys = [newKey('acme'), newKey('acme')];
  for (const [at, runtime] of [null, 'pack'].entries())
    await admitJob(store, { ...keys[at], requested_spec: { ...SPEC, tools, runtime } });
  const found = async (packs: readonly string[]) => {
    const { jobs } = await store.queuedJobs(choice({ exclude: [], limit: 9, abilities: { ...ABLE, packs } }));
    return jobs.map(({ job_id, language, runtime }) => [job_id, language, runtime]);
  };
  expect(await found(['pack'])).toEqual([]);
  expect(await found(['pack', withTools(anyPackOf('python'))])).toEqual([[keys[0]?.job_id, 'python', null]]);
  expect(await found([withTools('pack')])).toEqual([[keys[1]?.job_id, 'python', 'pack']]);
});

test('the first jobs of a tenant on two nodes at once have the numbers 1 and 2', {
  tags: ['Artifact-13'],
}, async () => {
  await using store = await node();
  await using other = await Session.open(url, {});
  const run = (sql: string) => other.execute({ sql, parameters: [] });
  await run('begin');
  await run(`insert into tenants (tenant, queued, running, last_turn, accepted) values ('fresh', 1, 0, 0, 1)`);
  const admitted = admitJob(store, newKey('fresh'));
  const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%tenants%'`;
  await expect.poll(() => operate(waiting)).toHaveLength(1);
  await run('commit');
  const { job_id } = await admitted;
  expect(await operate(`select tenant_number from jobs where job_id = '${job_id}'`)).toEqual([{ tenant_number: 2 }]);
  expect(await operate('select accepted, queued from tenants')).toEqual([{ accepted: 2, queued: 2 }]);
});

test('a job that is cancelled while a node takes it leaves no claim', async () => {
  await using store = await node();
  const { tenant, job_id } = await admitJob(store);
  await using taking = await Session.open(url, {});
  const run = (sql: string) => taking.execute({ sql, parameters: [] });
  await run('begin');
  await run(`select from queue where job_id = '${job_id}' for update`);
  await run(`insert into claims (tenant, job_id, node) select '${tenant}', '${job_id}', min(node) from nodes`);
  const cancelled = store.requestCancel({ tenant, job_id, principal: 'p', at: new Date().toISOString() });
  const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%queue%'`;
  await expect.poll(() => operate(waiting)).toHaveLength(1);
  await run('commit');
  await cancelled;
  expect(await operate('select * from claims')).toEqual([]);
});

test('the claim of a lost node on an ended job is removed', async () => {
  await using store = await node();
  const { tenant, job_id } = await runJob(store);
  await store.finish(finishOf({ tenant, job_id }));
  await operate(`insert into claims (tenant, job_id, node) values ('${tenant}', '${job_id}', 1000000)`);
  await store.fleet?.releaseOrphans();
  expect(await operate('select * from claims')).toEqual([]);
});

test('a node takes only jobs that it can run', async () => {
  await using store = await node();
  const spec = SPEC;
  const limits = (mem_mb: number) => ({ ...spec.limits, mem_mb });
  await admitJob(store, { requested_spec: { ...spec, language: 'node' } });
  await admitJob(store, { requested_spec: { ...spec, limits: limits(1024) } });
  await admitJob(store, { requested_spec: { ...spec, runtime: 'pack' } });
  await admitJob(store, {
    requested_spec: { ...spec, requirements: { minimum_isolation: 'gvisor-application-kernel' } },
  });
  const fit = await admitJob(store);
  expect(await ids(store, 10)).toEqual([fit.job_id]);
});

test('a job is taken whatever characters its program contains, even NUL after backslashes', async () => {
  await using store = await node();
  const admitted: string[] = [];
  for (const code of ['\0', '\\u0000', '\\\0', '"\0\\', '\u0001', '\\\\"']) {
    admitted.push((await admitJob(store, { requested_spec: { ...SPEC, code } })).job_id);
  }
  const strict = { minimum_isolation: 'gvisor-application-kernel' } as const;
  await admitJob(store, { requested_spec: { ...SPEC, code: '\\\0', requirements: strict } });
  expect((await ids(store, 10)).toSorted()).toEqual(admitted.toSorted());
});

test('an idempotency key that two nodes get at once makes one job', async () => {
  await using one = await node();
  await using other = await node();
  for (let round = 0; round < 10; round++) {
    const idempotency = { key: `key ${round}`, spec_sha256: 'a'.repeat(64) };
    const tenant = `tenant-${round}`;
    const answers = await Promise.all(
      [one, other].map((store) => store.admit(admission({ ...newKey(tenant), idempotency }))),
    );
    expect(answers.map(({ kind }) => kind).toSorted()).toEqual(['created', 'replayed']);
    const made = answers.map((answer) => ('job' in answer ? answer.job.job_id : ''));
    expect(new Set(made).size).toBe(1);
  }
});

test('if two nodes get a first step of the same session, one step is accepted, even if the tenant is new', {
  tags: ['Sessions-9'],
}, async () => {
  await using one = await node();
  await using other = await node();
  for (let round = 0; round < 10; round++) {
    const tenant = `tenant-${round}`;
    const requested_spec = { ...SPEC, session: { name: 's', after: null } };
    const step = () => admission({ ...newKey(tenant), principal: 'p', requested_spec });
    const answers = await Promise.all([one, other, one].map((store) => store.admit(step())));
    expect(answers.map(({ kind }) => kind).toSorted()).toEqual(['created', 'session_conflict', 'session_conflict']);
    const [made] = answers.flatMap((answer) => ('job' in answer ? [answer.job.job_id] : []));
    expect(await other.sessions({ tenant, principal: 'p' })).toMatchObject([{ name: 's', running_job_id: made }]);
  }
});

test('two nodes that change jobs of the same tenants at once lose no count and break no chain', async () => {
  await using one = await node();
  await using other = await node();
  const stores = [one, other];
  const work = async (number: number) => {
    const store = stores[number % 2] ?? one;
    const key = newKey(`t${number % 4}`);
    await store.admit(admission({ ...key, start: { started_at: startOf(key).started_at, execution: EXECUTION } }));
    const lines = Array.from({ length: 5 }, (_, at) => store.append(key, [stdout(`line ${at}`)]));
    const elsewhere = (stores[(number + 1) % 2] ?? one).requestCancel({
      ...key,
      principal: 'p',
      at: '2026-01-01T00:00:00.500Z',
    });
    await Promise.all([...lines, elsewhere]);
    const ends = await Promise.all(stores.map((each) => each.finish(finishOf(key))));
    expect(ends.filter(Boolean)).toHaveLength(1);
  };
  await Promise.all(Array.from({ length: 40 }, (_, number) => work(number)));
  expect(await operate('select sum(queued)::int as queued, sum(running)::int as running from tenants')).toEqual([
    { queued: 0, running: 0 },
  ]);
  expect(await operate('select from claims')).toEqual([]);
  await one[Symbol.asyncDispose]();
  await using _checked = await openPostgresStore({
    url,
    check: 'full',
    onProblem: () => {},
    threads: POSTGRES_SAME_THREAD,
  });
});

test('a node whose row was removed can no longer change anything, and reports this', async () => {
  await using store = await node('paused', 'own');
  await using survivor = await node();
  const key = await admitJob(store);
  await ids(store, 1);
  expect(await store.start(startOf(key))).toBe(true);
  await operate(`delete from nodes where instance = 'paused'`);
  const refusal = await store.append(key, [stdout('late')]).catch((error: StoreError) => error.code);
  expect(refusal).toBe('unavailable');
  expect((await store.fleet?.lost)?.code).toMatch(/^(locked|unavailable)$/);
  expect((await survivor.runningJobs()).map(({ job_id }) => job_id)).toEqual([key.job_id]);
  expect(await survivor.finish(finishOf(key, { recovery: true, execution: null }))).toBe(true);
  expect((await survivor.events({ key, after: 0, limit: 10 }))?.events.map(({ kind }) => kind)).toEqual([
    'queued',
    'started',
    'finished',
  ]);
});

test('a restarted service takes the place of its earlier process at once', async () => {
  await using before = await node('directory', 'own');
  const key = await admitJob(before);
  await ids(before, 1);
  await before.start(startOf(key));
  await using after = await node('directory');
  expect((await after.runningJobs()).map(({ job_id }) => job_id)).toEqual([key.job_id]);
  expect((await before.fleet?.lost)?.code).toMatch(/^(locked|unavailable)$/);
});

test('a node that does not renew its lease is removed by another node, and its queued jobs return to the queue', async () => {
  await using survivor = await node();
  const key = await admitJob(survivor);
  await operate(`insert into nodes values (1000, 'gone', now(), now() - interval '1 s', null, null, 7, 7)`);
  await operate(`insert into claims values ('${key.tenant}', '${key.job_id}', 1000)`);
  expect(await ids(survivor, 1)).toEqual([]);
  const left = Promise.withResolvers<void>();
  survivor.fleet?.listen({ beat: ({ hasOrphans }) => hasOrphans && left.resolve() });
  await left.promise;
  expect(await survivor.fleet?.releaseOrphans()).toBe(1);
  expect(await ids(survivor, 1)).toEqual([key.job_id]);
});

test('a node whose connection stops answering renews its lease over another connection', async () => {
  await (await node())[Symbol.asyncDispose]();
  await operate(`insert into nodes values (1000, 'cut off', now(), now(), null, null, 7, 7)`);
  using proxy = await proxyTo(url);
  const problems: StoreError[] = [];
  await using fleet = await PostgresFleet.open({
    url: proxy.url,
    node: 1000,
    onProblem: (error) => problems.push(error),
  });
  await fleet.announce(() => ({ version: '0', roles: [], executor: null, signs_with: null, signing_problem: null }));
  proxy.silence();
  await expect.poll(() => proxy.connections, { timeout: 30_000 }).toBe(2);
  await fleet.announce(() => ({ version: '0', roles: [], executor: null, signs_with: null, signing_problem: null }));
  expect(problems).toHaveLength(1);
  expect(fleet.lateBeats).toBe(1);
});

test('a message reaches the node to which it is sent, or each node that follows its topic', async () => {
  await using one = await node();
  await using other = await node();
  await using third = await node();
  const heard: string[] = [];
  const fleets = Object.entries({ one, other, third }).flatMap(([name, { fleet }]) => (fleet ? [{ name, fleet }] : []));
  for (const { name, fleet } of fleets) {
    fleet.listen({ heard: (topics) => heard.push(`${name}: ${topics?.join()}`) });
    await fleet.announce(() => ({ version: '0', roles: [], executor: null, signs_with: null, signing_problem: null }));
  }
  await expect.poll(() => fleets.map(({ fleet }) => fleet.nodes().length)).toEqual([3, 3, 3]);
  using _follows = third.fleet?.follow('end job_1');
  // A topic is reported once when it is followed, because a message may have been sent before.
  await expect.poll(() => heard).toEqual(['third: end job_1']);
  one.fleet?.tell('queue', other.fleet?.node ?? 0);
  one.fleet?.tell('outbox', other.fleet?.node ?? 0);
  one.fleet?.tell('end job_1', 'followers');
  one.fleet?.tell('end job_2', 'followers');
  await expect.poll(() => heard.toSorted()).toEqual(['other: queue,outbox', 'third: end job_1', 'third: end job_1']);
});

test('a node receives messages about a topic only while somebody there follows the topic', async () => {
  await using one = await node();
  await using other = await node();
  const heard: string[] = [];
  other.fleet?.listen({ heard: (topics) => heard.push(topics?.join() ?? '') });
  await expect.poll(() => [one, other].map(({ fleet }) => fleet?.nodes().length)).toEqual([2, 2]);
  other.fleet?.follow('end job_1')[Symbol.dispose]();
  const listening = `select from pg_stat_activity where query like 'unlisten %'`;
  await expect.poll(() => operate(listening)).toHaveLength(1);
  heard.length = 0;
  one.fleet?.tell('end job_1', 'followers');
  one.fleet?.tell('last', other.fleet?.node ?? 0);
  await expect.poll(() => heard).toEqual(['last']);
  using _again = other.fleet?.follow('end job_1');
  await expect.poll(() => heard).toEqual(['last', 'end job_1']);
});

test('followers on another node hear of new events, and of an answer to a call, when the change is committed', async () => {
  await using one = await node();
  await using other = await node();
  const limits = { calls: 1, call_bytes: 100, total_bytes: 100 };
  const tools = { tools: [{ name: 't' }], answered_by: ['p'], limits };
  const key = await runJob(one, { requested_spec: { ...SPEC, tools } });
  const heard: string[] = [];
  const additions: Added[] = [];
  other.fleet?.listen({
    heard(topics, added) {
      heard.push(topics?.join() ?? '');
      additions.push(...added);
    },
  });
  await expect.poll(() => [one, other].map(({ fleet }) => fleet?.nodes().length)).toEqual([2, 2]);
  const topics = [`events ${key.job_id}`, `answers ${key.job_id}`];
  for (const topic of topics) other.fleet?.follow(topic);
  await expect.poll(() => heard.toSorted()).toEqual(topics.toSorted());
  heard.length = 0;
  const at = '2026-01-01T00:00:20.000Z';
  const call = { kind: 'tool_call' as const, timestamp: at, data: { call: 1, tool: 't', arguments: {} } };
  expect(await one.append(key, [call])).toBe(true);
  await expect.poll(() => heard).toEqual([topics[0]]);
  const answer = { ...key, seq: 3, outcome: { result: 1 }, principal: 'p', at };
  expect(await one.answerToolCall(answer)).toMatchObject({ kind: 'taken' });
  await expect.poll(() => heard.toSorted()).toEqual([topics[1], topics[0], topics[0]]);
  // Repeating the answer changes nothing, so no follower gets a message.
  expect(await one.answerToolCall(answer)).toMatchObject({ kind: 'same' });
  one.fleet?.tell('last', other.fleet?.node ?? 0);
  await expect.poll(() => heard.at(-1)).toBe('last');
  expect(heard).toHaveLength(4);
  // The messages carry what was added. Two are about the answer, one for each topic, with the same additions.
  const [asked, answered] = (await other.events({ key, after: 2, limit: 9 }))?.events ?? [];
  const rows = additions.flatMap(({ events }) => events);
  const read = rows.map(({ data, ...event }) => ({ ...event, data: JSON.parse(data) as unknown }));
  expect(read).toEqual([asked, answered, answered].map((event) => ({ tenant: key.tenant, ...event })));
  const given = { answer_seq: 4, after: 0, call: 1, outcome: { result: 1 } };
  expect(additions.map((added) => added.answer)).toEqual([undefined, given, given]);
});

test('a follower on another node gets events from messages, and reads the store if a message carries no events', async () => {
  await using one = await node();
  await using other = await node();
  const key = await runJob(one);
  const topic = `events ${key.job_id}`;
  const heard: number[] = [];
  other.fleet?.listen({ heard: (_topics, added) => heard.push(added.length) });
  using _following = other.fleet?.follow(topic);
  await expect.poll(() => [one, other].map(({ fleet }) => fleet?.nodes().length)).toEqual([2, 2]);
  await one.append(key, [stdout('from the message')]);
  await expect.poll(() => heard).toEqual([0, 1]);
  await operate(`update events set data = '{"text":"from the store"}' where seq = 3`);
  const page = () => other.events({ key, after: 2, limit: 9 });
  expect(await page()).toMatchObject({ events: [{ data: { text: 'from the message' } }], complete: false });
  await one.finish(finishOf(key));
  one.fleet?.tell(topic, 'followers');
  await expect.poll(() => heard).toEqual([0, 1, 0]);
  expect(await page()).toMatchObject({ events: [{ data: { text: 'from the store' } }, {}], complete: true });
});

test('followers on another node hear nothing of a change whose commit fails', async () => {
  await using one = await node();
  await using other = await node();
  const key = await runJob(one);
  const heard: Added[][] = [];
  other.fleet?.listen({ heard: (_topics, added) => heard.push([...added]) });
  using _following = other.fleet?.follow(`events ${key.job_id}`);
  await expect.poll(() => [one, other].map(({ fleet }) => fleet?.nodes().length)).toEqual([2, 2]);
  await expect.poll(() => heard).toHaveLength(1);
  await operate(`create function refuse() returns trigger language plpgsql as $$ begin
    if new.data like '%bad%' then raise exception 'refused at the commit'; end if; return new; end $$`);
  await operate(`create constraint trigger refuse after insert on events deferrable initially deferred
    for each row execute function refuse()`);
  await expect(one.append(key, [stdout('bad')])).rejects.toMatchObject({ code: 'internal' });
  expect(await one.append(key, [stdout('good')])).toBe(true);
  // A message about the refused change would come first, because both changes come from one session.
  await expect.poll(() => heard.length).toBeGreaterThan(1);
  expect(heard[1]).toMatchObject([{ events: [{ data: '{"text":"good"}' }] }]);
});

test('a role that may only connect to the database can neither read nor forge the additions in a message', async () => {
  await using one = await node();
  await using other = await node();
  const key = await runJob(one);
  const topic = `events ${key.job_id}`;
  const heard: Added[][] = [];
  other.fleet?.listen({ heard: (_topics, added) => heard.push([...added]) });
  using _following = other.fleet?.follow(topic);
  await expect.poll(() => [one, other].map(({ fleet }) => fleet?.nodes().length)).toEqual([2, 2]);
  await expect.poll(() => heard).toEqual([[]]);
  await using stranger = await Session.open(url, {});
  const common = `select 'vouchbox_' || md5(current_schema()) as name`;
  const { rows } = await stranger.execute<{ name: string }>({ sql: common, parameters: [] });
  const channel = `${rows[0]?.name}_${sha256Hex(topic).slice(0, 20)}`;
  const payloads: string[] = [];
  stranger.onMessage((payload) => payloads.push(payload));
  await stranger.listen(channel);
  await one.append(key, [stdout('a secret')]);
  await expect.poll(() => payloads).toHaveLength(1);
  const [payload = ''] = payloads;
  const sealedLine = /^=.*$/m.exec(payload)?.[0] ?? '';
  expect(Buffer.from(sealedLine.slice(1), 'base64').length).toBeGreaterThan(200);
  expect(payload + Buffer.from(sealedLine.slice(1), 'base64').toString('latin1')).not.toContain('secret');
  const forged = [{ ...key, events: [{ seq: 3, kind: 'stdout', data: '{"text":"forged"}' }] }];
  const changed = sealedLine.replace(/.(?=.{40}$)/, (letter) => (letter === 'A' ? 'B' : 'A'));
  const lines = [
    `=${Buffer.from(JSON.stringify(forged)).toString('base64')}`,
    JSON.stringify(forged),
    changed,
    '=',
    '=?',
  ];
  for (const line of lines) {
    await stranger.execute({ sql: 'select pg_notify($1, $2)', parameters: [channel, `999\n${topic}\n${line}`] });
  }
  await expect.poll(() => heard).toHaveLength(2 + lines.length);
  expect(heard.slice(2)).toEqual(lines.map(() => []));
  expect(heard[1]).toMatchObject([{ ...key, events: [{ seq: 3 }] }]);
});

test('if two nodes store an attestation of one job, one is stored, even while another job of its tenant changes', async () => {
  await using one = await node();
  await using other = await node();
  const key = await runJob(one);
  await one.finish(finishOf(key));
  const attestation = attestationOf(key, (await one.job(key))?.receipt_sha256 ?? '');
  await using changing = await Session.open(url, {});
  changing.begin();
  const lock = 'select 1 from tenants where tenant = $1 for no key update';
  await changing.execute({ sql: lock, parameters: [key.tenant] });
  const stored = await Promise.all([one.storeAttestation(attestation), other.storeAttestation(attestation)]);
  expect(stored.filter((isStored) => isStored)).toHaveLength(1);
  await changing.rollback();
});

test('a node takes both jobs of a pair if it can run both, and when a node is lost, neither job is left running', {
  tags: ['Interaction-6', 'Interaction-10'],
}, async () => {
  await using one = await node();
  const gone = await node();
  const input = admission();
  const peer = { tenant: input.tenant, job_id: newKey().job_id };
  const interaction = { peer: peer.job_id, role: 'program' as const };
  const other = { ...SPEC, language: 'bash', requirements: { minimum_isolation: 'linux-shared-kernel' } } as const;
  const interactor = {
    job_id: peer.job_id,
    requested_spec: { interaction: { peer: input.job_id, role: 'interactor' as const }, ...other },
  };
  await one.admit({ ...input, requested_spec: { interaction, ...SPEC }, interactor });
  const able = { ...ABLE, languages: ['python', 'bash'] };
  const taken = async (store: Store, abilities: Abilities, slots = 4) =>
    (await store.queuedJobs(choice({ exclude: [], limit: 4, slots, abilities }))).jobs.map(({ job_id }) => job_id);
  expect(await taken(one, { ...able, languages: ['python'] })).toEqual([]);
  expect(await taken(one, { ...able, isolation: ['none'] })).toEqual([]);
  expect(await taken(one, { ...able, memMbMax: 511 })).toEqual([]);
  expect(await taken(one, able, 1)).toEqual([]);
  expect(await taken(gone, able)).toEqual([input.job_id]);
  expect(await taken(one, able)).toEqual([]);
  const execution = EXECUTION;
  expect(await one.start(startOf(input, { interactor: { job_id: peer.job_id, execution } }))).toBe(false);
  expect(await gone.start(startOf(input, { interactor: { job_id: peer.job_id, execution } }))).toBe(true);
  expect(await one.runningJobs()).toEqual([]);
  await gone[Symbol.asyncDispose]();
  expect((await one.runningJobs()).map(({ job_id }) => job_id).toSorted()).toEqual(
    [input.job_id, peer.job_id].toSorted(),
  );
});

test('a node may start with a key that replaces the key of running nodes, but not with an old or unrelated key', async () => {
  await using one = await node();
  await using other = await node();
  await using again = await node();
  await using late = await node();
  const half = (key_id: string) => ({ key_id, public_key_pem: `public half of ${key_id}` });
  const starts = ({ fleet }: Store, key_id: string, ...retired: string[]) =>
    fleet?.registerKey({ ...half(key_id), isRotation: false, retired: retired.map(half) });
  for (const store of [one, other]) expect(await starts(store, 'first')).toBeNull();
  expect(await starts(again, 'foreign')).toBe('first');
  expect(await starts(again, 'second', 'first')).toBeNull();
  expect(await starts(late, 'first', 'second')).toBe('second');
  expect(await starts(late, 'third', 'second')).toBe('first');
  expect(await starts(late, 'second')).toBeNull();
});
