/** Spec § Gradings: programs against tests in one request. */

import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { createServiceClient } from '@vouchbox/client';
import type { GradingDetail, GradingEvent } from '@vouchbox/protocol';
import { openCredentials } from '@vouchbox/server';
import { describe, expect } from 'vitest';
import { slowTest, quickTest as test } from '../rig/form.ts';
import { type Answer, type RequestOptions, Rig, type Tenant, useRig } from '../rig/rig.ts';

const rig = useRig({ provider: 'subprocess', concurrency: '2' });
/** A service that runs one job at a time and queues at most two. */
const tight = useRig({ provider: 'subprocess', concurrency: '1', 'queue-max': '2', 'drain-seconds': '0' });

const SUM = { language: 'python', code: 'print(sum(map(int, input().split())))' };
const WRONG = { language: 'bash', code: 'echo 0' };
const SLOW = { language: 'bash', code: 'sleep 300' };
const TESTS = [
  { name: 'small', stdin: '1 2', expected: '3' },
  { name: 'large', stdin: '1000 2000', expected: '3000', points: 4 },
];
const LONG = { wall_seconds: 300, cpu_seconds: 100 };
const V2 = { verdict: 'urn:svc:verdict:v2' };
const ONE = { programs: [SUM], tests: TESTS };

const refusalOf = ({ status, json }: Answer): [number, string] => [status, json.error?.code as string];
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');

function submit(body: object, options: RequestOptions = {}, to: Rig = rig()): Promise<Answer> {
  return to.request('/v1/gradings', { method: 'POST', body, ...options });
}

async function begun(body: object, to: Rig = rig(), options: RequestOptions = {}): Promise<string> {
  const { json, status } = await submit(body, options, to);
  expect([status, json]).toEqual([201, expect.objectContaining({ status: 'running' })]);
  return json.grading_id as string;
}

async function graded(body: object, to: Rig = rig()): Promise<GradingDetail> {
  return await to.alpha.client.waitForGrading(await begun(body, to));
}

const eventsOf = (id: string, to: Rig = rig()): Promise<GradingEvent[]> =>
  Array.fromAsync(to.alpha.client.gradingEvents(id));

/** Resolves with the id of the first grading job that runs. */
async function runningJob(to: Rig, { client }: Tenant = to.alpha): Promise<string> {
  for (;;) {
    const { items } = await client.list({ status: ['running'] });
    const [first] = items;
    if (first !== undefined) return first.job_id;
    await client
      .result((await client.list({ limit: 1 })).items[0]?.job_id ?? '', { waitSeconds: 0.05 })
      .catch(() => {});
  }
}

/** The text of a job's output. */
async function outputOf(job_id: string): Promise<string> {
  const { artifacts } = await rig().alpha.client.result(job_id);
  return Buffer.from(artifacts[0]?.content_base64 ?? '', 'base64').toString();
}

describe('a grading', () => {
  test('runs every program with every test, and for each program one judge job writes the verdict', {
    tags: ['Gradings-1', 'Gradings-3', 'Gradings-9', 'Gradings-9a'],
  }, async () => {
    const answer = await submit({ programs: [{ name: 'good', ...SUM }, WRONG], tests: TESTS });
    const { grading_id, created_at } = answer.json;
    const path = `/v1/gradings/${grading_id}`;
    expect(answer.json).toEqual({
      grading_id,
      status: 'running',
      created_at,
      grading_url: path,
      events_url: `${path}/events`,
    });
    expect([answer.headers.get('location'), answer.headers.get('idempotency-replayed')]).toEqual([path, 'false']);
    const detail = await rig().alpha.client.waitForGrading(grading_id as string);
    expect(detail).toMatchObject({ status: 'finished', programs: 2, tests: 2, runs: 4, runs_ended: 4 });
    const [good, wrong] = detail.graded;
    expect(good).toMatchObject({
      name: 'good',
      status: 'judged',
      problem: null,
      verdict: { accepted: true, points: 5 },
    });
    expect(wrong).toMatchObject({
      name: null,
      language: 'bash',
      verdict: { accepted: false, points: 0, points_max: 5 },
    });
    const { job_id = '', verdict_sha256 } = good?.verdict ?? {};
    const verdict = await outputOf(job_id);
    expect(digestOf(verdict)).toBe(verdict_sha256);
    const words = JSON.parse(verdict).tests.map((said: { verdict: string; name: string }) => [said.name, said.verdict]);
    expect(words).toEqual([
      ['small', 'accepted'],
      ['large', 'accepted'],
    ]);
    expect((await rig().alpha.client.detail(job_id)).receipt_sha256).toBe(good?.verdict?.receipt_sha256);
  });

  test('with a checker asks the checker instead of comparing outputs', {
    tags: ['Gradings-1', 'Gradings-2', 'Gradings-2a'],
  }, async () => {
    const checker = { language: 'bash', code: '[ "$(cat input/output)" -gt "$(cat input/expected)" ]' };
    const {
      graded: [one],
    } = await graded({ programs: [SUM], tests: [{ name: 'a', stdin: '1 2', expected: '2' }], checker });
    expect(one?.verdict).toMatchObject({ accepted: true });
  });

  test('accepts uploads as program, input and expected output, and gives each test its arguments and files', {
    tags: ['Gradings-2', 'Gradings-2b'],
  }, async () => {
    const { client } = rig().alpha;
    const [code, stdin, expected] = [
      await client.upload('import sys; print(input(), sys.argv[1], open("input/f").read())'),
      await client.upload('in'),
      await client.upload('in arg file'),
    ].map(({ blob }) => ({ blob }));
    const files = [{ path: 'input/f', content_base64: Buffer.from('file').toString('base64') }];
    const tests = [
      { name: 'a', stdin, expected, args: ['arg'], files, compare: 'exact' },
      { name: 'b', stdin, expected, args: ['x'], files },
    ];
    const detail = await graded({ programs: [{ language: 'python', code }], tests });
    // `print` adds a line feed, which `exact` treats as a difference.
    expect(detail.graded[0]?.verdict).toMatchObject({ points: 0 });
    const again = await graded({
      programs: [{ language: 'python', code }],
      tests: [{ ...tests[0], expected: 'in arg file\n' }],
    });
    expect(again.graded[0]?.verdict).toMatchObject({ accepted: true });
  });

  test('gives each run its program’s files and variables, and the job outputs that its test names', {
    tags: ['Gradings-2a'],
  }, async () => {
    const made = await rig().run({ language: 'bash', code: 'printf made > output/a', outputs: ['output/a'] });
    const from = { job_id: made.job_id, path: 'output/a' };
    const files = [{ path: 'input/lib', content_base64: Buffer.from('lib').toString('base64') }];
    const code = 'printf "$(cat input/lib) $(cat input/a) $WHO"';
    const program = { language: 'bash', code, env: { WHO: 'me' }, files };
    const tests = [{ name: 'a', files: [{ path: 'input/a', from }], expected: 'lib made me' }];
    expect((await graded({ programs: [program], tests })).graded[0]?.verdict).toMatchObject({ accepted: true });
    const clash = [{ name: 'a', files: [{ path: 'input/lib', from }] }];
    expect(refusalOf(await submit({ programs: [program], tests: clash }))).toEqual([400, 'invalid_request']);
    const gone = [{ name: 'a', files: [{ path: 'input/a', from: { ...from, path: 'output/b' } }] }];
    const refused = await submit({ programs: [program], tests: gone });
    expect(refusalOf(refused)).toEqual([422, 'input_unavailable']);
    expect(refused.json.error.message).toMatch(/^\/tests\/0\/files\/0\/from names no output/);
  });

  test('gets its first answer again if its idempotency key is repeated; another body with that key is refused', {
    tags: ['Gradings-4'],
  }, async () => {
    const headers = { 'idempotency-key': 'grading-1' };
    const first = await submit(ONE, { headers });
    const same = { programs: [{ ...SUM, runtime: null }], tests: TESTS, requirements: { minimum_isolation: 'none' } };
    const again = await submit(same, { headers });
    expect([again.status, again.json, again.headers.get('idempotency-replayed')]).toEqual([201, first.json, 'true']);
    const other = await submit({ ...ONE, programs: [WRONG] }, { headers });
    expect(refusalOf(other)).toEqual([422, 'idempotency_key_reused']);
    expect(other.json.error.message).toBe('The Idempotency-Key was used for another grading.');
    expect((await submit(ONE, { headers, key: rig().beta.key })).json.grading_id).not.toBe(first.json.grading_id);
    expect((await rig().post({ language: 'bash', code: 'true' }, { headers })).status).toBe(201);
    const refused = { 'idempotency-key': 'grading-2' };
    expect((await submit({ ...ONE, tests: [] }, { headers: refused })).status).toBe(400);
    expect((await submit(ONE, { headers: refused })).status).toBe(201);
  });

  test('needs a key that may submit and read jobs, and is cancelled only with a key that may cancel jobs', {
    tags: ['Gradings-5'],
  }, async () => {
    await using operator = await openCredentials({ dataDir: rig().dataDir });
    const keyWith = async (...scopes: ('jobs:submit' | 'jobs:read' | 'jobs:cancel')[]) =>
      (await operator.create({ tenant: 'alpha', principal: null, scopes, expires_at: null })).key;
    const key = await keyWith('jobs:submit');
    for (const lacking of [key, await keyWith('jobs:read')]) {
      expect(refusalOf(await submit(ONE, { key: lacking }))).toEqual([403, 'insufficient_scope']);
    }
    const both = await keyWith('jobs:submit', 'jobs:read');
    const { grading_id } = (await submit(ONE, { key: both })).json;
    const cancel = (as: string) => rig().request(`/v1/gradings/${grading_id}`, { method: 'DELETE', key: as });
    expect(refusalOf(await cancel(both))).toEqual([403, 'insufficient_scope']);
    expect((await cancel(await keyWith('jobs:cancel'))).status).toBe(200);
    expect(refusalOf(await rig().request('/v1/gradings', { key }))).toEqual([403, 'insufficient_scope']);
  });

  test('that belongs to another tenant is answered like an unknown grading', { tags: ['Gradings-6'] }, async () => {
    const id = await begun(ONE);
    for (const [path, method] of [
      ['', 'GET'],
      ['', 'DELETE'],
      ['/events', 'GET'],
    ] as const) {
      const ask = (grading: string, key: string) => rig().request(`/v1/gradings/${grading}${path}`, { method, key });
      const [foreign, unknown] = [await ask(id, rig().beta.key), await ask('grading_x', rig().beta.key)];
      expect(refusalOf(foreign)).toEqual([404, 'grading_not_found']);
      expect(foreign.json.error.message).toBe(unknown.json.error.message);
    }
    expect((await rig().beta.client.gradings()).items.map(({ grading_id }) => grading_id)).not.toContain(id);
    expect(await rig().alpha.client.waitForGrading(id)).toMatchObject({ status: 'finished' });
  });

  test('has numbered events: one for each job, one for each program, and a last one for its end', {
    tags: ['Gradings-11'],
  }, async () => {
    const id = await begun({ programs: [{ name: 'good', ...SUM }, WRONG], tests: TESTS });
    const events = await eventsOf(id);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.filter(({ kind }) => kind === 'job').map(({ data }) => [data.program, data.name, data.test])).toEqual(
      expect.arrayContaining([
        [0, 'test 0', 'small'],
        [1, 'test 1', 'large'],
        [0, 'judge', null],
      ]),
    );
    expect(events.find(({ kind, data }) => kind === 'program' && data.program === 0)?.data).toMatchObject({
      name: 'good',
      status: 'judged',
      verdict: { points: 5 },
    });
    expect(events.at(-1)).toMatchObject({ kind: 'finished', data: { status: 'finished' } });
    expect(events).toHaveLength(4 + 2 + 2 + 1);
    const page = await rig().request(`/v1/gradings/${id}/events?after=3&limit=2`);
    expect(page.json).toMatchObject({ items: [{ seq: 4 }, { seq: 5 }], next_cursor: 5 });
    const end = await rig().request(`/v1/gradings/${id}/events?after=${events.length}&wait_seconds=30`);
    expect(end.json).toEqual({ items: [], next_cursor: null });
  });

  test('is listed for its tenant alone, newest first, in pages', { tags: ['Gradings-10'] }, async () => {
    const ids = [await begun(ONE), await begun(ONE), await begun(ONE)].toReversed();
    const first = await rig().alpha.client.gradings({ limit: 2 });
    expect(first.items.map(({ grading_id }) => grading_id)).toEqual(ids.slice(0, 2));
    const second = await rig().request(`/v1/gradings?limit=1&cursor=${first.next_cursor}`);
    expect(second.json.items[0]).toMatchObject({ grading_id: ids[2], programs: 1, runs: 2 });
    expect('graded' in second.json.items[0]).toBe(false);
    const foreign = await rig().request(`/v1/gradings?cursor=${first.next_cursor}`, { key: rig().beta.key });
    expect(refusalOf(foreign)).toEqual([400, 'invalid_request']);
    for (const id of ids) await rig().alpha.client.waitForGrading(id);
  });
});

describe('a verdict of version 2', { tags: ['Gradings-2d'] }, () => {
  const verdictOf = async (body: object) => {
    const detail = await graded({ ...V2, ...body });
    expect(detail).toMatchObject({ status: 'finished' });
    const [one] = detail.graded;
    return { said: one?.verdict, verdict: JSON.parse(await outputOf(one?.verdict?.job_id ?? '')) };
  };
  const wordsOf = ({ tests }: { tests: readonly { name: string; verdict: string }[] }) =>
    tests.map(({ verdict }) => verdict);

  test('scores groups of tests, stops a group at a failure, and skips the groups that depend on it', async () => {
    const groups = [
      { name: 'easy', points: 10, score: 'minimum', stop: true },
      { name: 'hard', after: ['easy'] },
    ];
    const test = (name: string, group: string, stdin: string, expected: string) => ({ name, group, stdin, expected });
    const tests = [
      test('a', 'easy', '1 1', '2'),
      test('b', 'easy', '1 2', 'never'),
      test('c', 'easy', '1 3', '4'),
      test('d', 'hard', '1 4', '5'),
    ];
    const { said, verdict } = await verdictOf({ programs: [SUM], tests, groups });
    expect(verdict).toMatchObject({ schema: V2.verdict, accepted: false, points: 0 });
    expect(wordsOf(verdict)).toEqual([
      'accepted',
      'wrong_answer',
      expect.stringMatching(/accepted|skipped/),
      'skipped',
    ]);
    expect(said).toMatchObject({ points: 0, points_max: verdict.points_max });
    const all = await verdictOf({
      programs: [SUM],
      tests: tests.map((one) => ({ ...one, expected: undefined })),
      groups,
    });
    expect(all.verdict).toMatchObject({ accepted: true, points: all.verdict.points_max });
  });

  test('compares numbers within a tolerance, and names the run of each test', async () => {
    const programs = [{ language: 'python', code: 'print(0.1 + 0.2)' }];
    const compare = (absolute: number) => ({ floats: { absolute } });
    const tests = [
      { name: 'near', expected: '0.3', compare: compare(1e-9) },
      { name: 'far', expected: '0.31', compare: compare(1e-9) },
    ];
    const { verdict } = await verdictOf({ programs, tests });
    expect(wordsOf(verdict)).toEqual(['accepted', 'wrong_answer']);
    expect(verdict.tests[0].run).toMatchObject({ job_id: expect.stringMatching(/^job_/), compiler: null });
  });

  test('uses input validators, and a checker with the exit codes of testlib or Kattis', async () => {
    const tests = [
      { name: 'good', stdin: '1 2', expected: '3' },
      { name: 'bad', stdin: 'x y', expected: '3' },
    ];
    const validators = [{ language: 'bash', code: 'grep -Eq "^[0-9]+ [0-9]+" || exit 3' }];
    const part = { language: 'bash', code: 'echo "points 0.5" >&2; exit 7' };
    const { verdict } = await verdictOf({ programs: [SUM], tests, validators, checker: part });
    expect(wordsOf(verdict)).toEqual(['partial', 'invalid_input']);
    expect(verdict.points).toBe(0.5);
    const kattis = { language: 'bash', code: '[ "$(cat)" = "$(cat "$2")" ] && exit 42; exit 43', codes: 'kattis' };
    const { verdict: other } = await verdictOf({ programs: [SUM], tests: [tests[0]], checker: kattis });
    expect(wordsOf(other)).toEqual(['accepted']);
  });

  test('must be requested if a grading has groups, and is refused if a group has no test', async () => {
    const groups = [{ name: 'g' }];
    expect(refusalOf(await submit({ ...ONE, groups }))).toEqual([400, 'invalid_request']);
    const refused = await submit({ ...ONE, ...V2, groups });
    const message = '/groups/0 cannot be graded: group g has no test';
    expect([...refusalOf(refused), refused.json.error.message]).toEqual([400, 'invalid_request', message]);
  });
});

test('a grading of 50,000 runs is accepted in one request and can be cancelled', {
  tags: ['Gradings-2c', 'Gradings-12'],
}, async () => {
  const body = {
    programs: Array.from({ length: 50 }, () => SLOW),
    tests: Array.from({ length: 1000 }, (_, at) => ({ name: `${at}` })),
    limits: LONG,
  };
  const id = await begun(body);
  await rig().alpha.client.cancelGrading(id);
  const detail = await rig().alpha.client.waitForGrading(id);
  expect(detail).toMatchObject({ status: 'cancelled', runs: 50_000 });
});

describe('a cancellation', { tags: ['Gradings-12'] }, () => {
  test('ends the jobs of a grading, lets no more jobs begin, and may be repeated', async () => {
    const id = await begun({ programs: [SLOW, SLOW], tests: [{ name: 'a' }, { name: 'b' }], limits: LONG });
    await runningJob(rig());
    const { client } = rig().alpha;
    expect(await client.cancelGrading(id)).toMatchObject({ cancellation_requested: true, already_terminal: false });
    const detail = await client.waitForGrading(id);
    expect(detail).toMatchObject({ status: 'cancelled', graded: [{ status: 'cancelled' }, { status: 'cancelled' }] });
    const events = await eventsOf(id);
    const jobs = events.filter(({ kind }) => kind === 'job');
    expect(jobs.length).toBeLessThanOrEqual(2);
    for (const { data } of jobs) expect((await client.detail(data.job_id ?? '')).status).toBe('cancelled');
    expect(await client.cancelGrading(id)).toMatchObject({ status: 'cancelled', already_terminal: true });
  });
});

test('a grading that still waits for its turn can be cancelled', { tags: ['Gradings-12'] }, async () => {
  const { client } = rig().alpha;
  const slow = { programs: [SLOW], tests: [{ name: 'a' }], limits: LONG };
  const ids: string[] = [];
  while (ids.length < 9) ids.push(await begun(slow));
  for (const id of ids.toReversed()) {
    await client.cancelGrading(id);
    expect(await client.waitForGrading(id)).toMatchObject({ status: 'cancelled' });
  }
});

describe('expected output', { tags: ['Gradings-14', 'Gradings-8'] }, () => {
  test('can be read neither from the jobs that get it nor by its digest', async () => {
    const { client } = rig().alpha;
    const secret = 'a text that only the grader knows';
    const { blob } = await client.upload(secret);
    const checker = { language: 'bash', code: 'grep -q knows input/expected' };
    const {
      graded: [one],
    } = await graded({ programs: [WRONG], tests: [{ name: 'a', expected: { blob } }], checker });
    expect(one?.verdict).toMatchObject({ accepted: true });
    const reader = { language: 'bash', code: 'cat input/a', files: [{ path: 'input/a', blob }] };
    expect(refusalOf(await rig().post(reader))).toEqual([422, 'blob_unavailable']);
    await expect(client.download(blob)).rejects.toMatchObject({ code: 'blob_not_found' });
    const judge = await client.detail(one?.verdict?.job_id ?? '');
    expect(judge.requested_spec.files).toEqual([{ path: 'input/grading.json', blob: expect.any(String), held: true }]);
    const [given] = judge.requested_spec.files ?? [];
    const named = { path: 'input/a', blob: (given as { blob: string }).blob };
    expect(refusalOf(await rig().post({ ...reader, files: [named] }))).toEqual([422, 'blob_unavailable']);
    expect(refusalOf(await rig().post({ ...reader, files: [{ ...named, held: true }] }))).toEqual([
      400,
      'invalid_request',
    ]);
    const { items } = await client.list({ limit: 4 });
    for (const { job_id } of items) {
      const { receipt: _, ...told } = await client.detail(job_id);
      expect(JSON.stringify([told, await Array.fromAsync(client.events(job_id))])).not.toContain('grader knows');
      expect(JSON.stringify(told)).not.toContain(Buffer.from(secret).toString('base64').slice(4, -4));
    }
  });

  test('that is also the input of a test can be downloaded by its digest', async () => {
    const { client } = rig().alpha;
    const { blob } = await client.upload('both an input and what is expected');
    const CAT = { language: 'bash', code: 'cat' };
    const tests = [{ name: 'a', stdin: { blob }, expected: { blob }, compare: 'exact' }];
    expect((await graded({ programs: [CAT], tests })).graded[0]?.verdict).toMatchObject({ accepted: true });
    expect((await client.download(blob)).bytes.length).toBe(34);
  });
});

slowTest(
  "a grading stores its own files without using up the tenant's limit of uploads",
  {
    tags: ['Gradings-14'],
  },
  async () => {
    const few = await Rig.start({ provider: 'subprocess', concurrency: '2', 'tenant-blobs-max': '1' });
    await few.alpha.client.upload('the one that there may be');
    const programs = Array.from({ length: 3 }, () => ({ language: 'bash', code: 'cat' }));
    const checker = { language: 'bash', code: 'cmp input/output input/expected' };
    const tests = ['a', 'b'].map((name) => ({ name, stdin: name, expected: name }));
    const detail = await graded({ programs, tests, checker }, few);
    expect(detail.graded.map(({ verdict }) => verdict?.points)).toEqual([2, 2, 2]);
    expect(await few.stop()).toEqual([]);
  },
);

describe('in a full service', { tags: ['Gradings-7'] }, () => {
  test('a grading takes one place in the queue, so other tenants’ jobs run in between', async () => {
    const { alpha, beta } = tight();
    const tests = Array.from({ length: 1000 }, (_, at) => ({ name: `${at}` }));
    const id = await begun({ programs: [{ language: 'bash', code: 'sleep 0.01' }], tests }, tight());
    await runningJob(tight());
    // One place in the queue is left, however many jobs the grading still has to run.
    const one = await beta.client.submit({ language: 'bash', code: 'echo beside' });
    const { stdout } = await beta.client.waitForResult(one.job_id);
    expect(stdout).toBe('beside\n');
    const { runs_ended } = await alpha.client.grading(id);
    expect(runs_ended).toBeLessThan(900);
    const waiting = await alpha.client.list({ status: ['queued', 'running'] });
    expect(waiting.items.length).toBeLessThanOrEqual(1);
    await alpha.client.cancelGrading(id);
    await alpha.client.waitForGrading(id);
  });

  test('a new grading is refused, and a repeated submission of an earlier grading is answered', async () => {
    const headers = { 'idempotency-key': 'full' };
    const slow = { programs: [SLOW], tests: [{ name: 'a' }], limits: LONG };
    const first = await begun(slow, tight(), { headers });
    const second = await begun(slow, tight());
    expect(refusalOf(await submit(slow, {}, tight()))).toEqual([503, 'queue_full']);
    expect(refusalOf(await tight().post({ language: 'bash', code: 'true' }))).toEqual([503, 'queue_full']);
    expect((await submit(slow, { headers }, tight())).json.grading_id).toBe(first);
    for (const id of [first, second]) await tight().alpha.client.cancelGrading(id);
    for (const id of [first, second]) await tight().alpha.client.waitForGrading(id);
  });
});

test('a grading continues after a restart of the service, and makes no job twice', {
  tags: ['Gradings-13', 'Gradings-9'],
}, async () => {
  const settings = { provider: 'subprocess', concurrency: '1', 'drain-seconds': '0' };
  const first = await Rig.start(settings);
  const tests = Array.from({ length: 6 }, (_, at) => ({ name: `${at}`, stdin: `${at} 1`, expected: `${at + 1}` }));
  const id = await begun({ programs: [SUM, WRONG], tests }, first);
  const waited = first.request(`/v1/gradings/${id}?wait_seconds=300`);
  for await (const { kind } of first.alpha.client.gradingEvents(id)) if (kind === 'job') break;
  await first.stop('kept');
  expect(refusalOf(await waited)).toEqual([503, 'shutting_down']);
  const second = await Rig.start(settings, first.dataDir);
  const detail = await second.alpha.client.waitForGrading(id);
  expect(detail).toMatchObject({ status: 'finished', runs_ended: 12, graded: [{ verdict: { points: 6 } }, {}] });
  const jobs = (await eventsOf(id, second)).filter(({ kind }) => kind === 'job');
  const whole = jobs
    .filter(({ data }) => data.terminal_reason === 'exited')
    .map(({ data }) => `${data.program} ${data.name}`);
  expect(new Set(whole).size).toBe(14);
  expect(whole).toHaveLength(14);
  expect(await second.stop()).toEqual([]);
});

slowTest(
  'a waiting client gets the verdict after the service restarts, even if the client may repeat its other requests only once',
  {
    tags: ['Gradings-13'],
  },
  async () => {
    const settings = { provider: 'subprocess', concurrency: '1', 'drain-seconds': '0' };
    const first = await Rig.start(settings);
    const retry = { attemptsMax: 2, baseMilliseconds: 20, capMilliseconds: 50 };
    const missed = Promise.withResolvers<void>();
    let pausesLeft = Number.POSITIVE_INFINITY;
    const sleep = (milliseconds: number) => {
      if (--pausesLeft === 0) missed.resolve();
      return pause(milliseconds);
    };
    const client = createServiceClient({ baseUrl: first.service.url, apiKey: first.alpha.key, retry, sleep });
    const tests = Array.from({ length: 6 }, (_, at) => ({ name: `${at}`, stdin: `${at} 1`, expected: `${at + 1}` }));
    const begun = Promise.withResolvers<void>();
    const graded = client.grade(SUM.code, { language: SUM.language, tests, onTest: () => begun.resolve() });
    await Promise.race([begun.promise, graded]);
    await first.stop('kept');
    pausesLeft = 5;
    await Promise.race([missed.promise, graded]);
    const second = await Rig.start({ ...settings, port: String(first.port) }, first.dataDir);
    expect((await graded).verdict).toMatchObject({ accepted: true, points: 6 });
    expect(await second.stop()).toEqual([]);
  },
);
