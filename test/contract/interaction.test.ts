/** Spec § Interaction: two jobs whose programs talk to each other. */

import { createHash, randomUUID } from 'node:crypto';
import type { JobDetail, JobSubmission } from '@vouchbox/protocol';
import { describe, expect } from 'vitest';
import { slowTest, quickTest as test } from '../rig/form.ts';
import { type Answer, type Rig, useRig } from '../rig/rig.ts';

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');
const refusalOf = ({ status, json }: Answer): [number, string] => [status, json.error.code as string];
const python = (code: string, more: Partial<JobSubmission> = {}) => ({ language: 'python', code, ...more });

const ASKS = 'print("17", flush=True)\nprint("it said", input())';
const ANSWERS = 'n = int(input())\nprint(n * 2, flush=True)\nimport sys\nprint("rest:", repr(sys.stdin.read()))';

interface Pair {
  readonly program: JobDetail;
  readonly interactor: JobDetail;
}

async function submitted(to: Rig, submission: object): Promise<readonly [program: string, interactor: string]> {
  const { status, json } = await to.post(submission);
  expect(status).toBe(201);
  return [json.job_id, json.interaction.peer];
}

/** Runs a pair until both jobs have ended. */
async function ran(to: Rig, submission: object): Promise<Pair> {
  const ids = await submitted(to, submission);
  const { client } = to.alpha;
  for (const id of ids) await client.waitForResult(id);
  const [program, interactor] = await Promise.all(ids.map((id) => client.detail(id)));
  return { program: program as JobDetail, interactor: interactor as JobDetail };
}
const ends = ({ program, interactor }: Pair) => [program, interactor].map(({ receipt }) => receipt?.interaction?.end);

describe.each(['namespace', 'gvisor'] as const)('in the class of %s', (provider) => {
  const rig = useRig({ provider, concurrency: '2' });

  test('the two programs are two jobs that name each other, and each job’s receipt has what the other program wrote', {
    tags: ['Interaction-1', 'Interaction-2', 'Interaction-3', 'Interaction-8', 'Interaction-9'],
  }, async () => {
    const { program, interactor } = await ran(rig(), { ...python(ASKS), interactor: python(ANSWERS) });
    expect([program.status, interactor.status]).toEqual(['succeeded', 'succeeded']);
    const { client } = rig().alpha;
    const [said, answered] = [await client.result(program.job_id), await client.result(interactor.job_id)];
    expect(said.stdout).toBe('17\nit said 34\n');
    expect(answered.stdout).toBe('34\nrest: "it said 34\\n"\n'.replaceAll('"', "'"));
    const named = (job: JobDetail) => job.requested_spec.interaction;
    expect(named(program)).toEqual({ peer: interactor.job_id, role: 'program' });
    expect(named(interactor)).toEqual({ peer: program.job_id, role: 'interactor' });
    // The program had ended when the interactor wrote its last line.
    const given = { bytes_delivered: 3, raw_sha256: digestOf('34\n') };
    expect(program.receipt?.interaction).toEqual({ ...named(program), stdin: given, end: 'first' });
    const { bytes_seen: bytes_delivered, raw_sha256 } = program.receipt?.executor_output?.stdout ?? {};
    expect(interactor.receipt?.interaction).toEqual({
      ...named(interactor),
      stdin: { bytes_delivered, raw_sha256 },
      end: 'second',
    });
    expect(raw_sha256).toBe(digestOf(said.stdout));
  });

  test('cancelling one job of a pair cancels both, whether they run or are queued', {
    tags: ['Interaction-5'],
  }, async () => {
    const { client } = rig().alpha;
    const waits = { ...python('print("up", flush=True)\ninput()'), interactor: python('input()\ninput()') };
    const [first, second] = [await submitted(rig(), waits), await submitted(rig(), waits)];
    for await (const event of client.follow(first[0])) if (event.kind === 'stdout') break;
    expect((await client.detail(second[0])).status).toBe('queued');
    await client.cancel(second[0]);
    await client.cancel(first[1]);
    for (const id of [...first, ...second]) {
      expect((await client.waitForResult(id)).status).toBe('cancelled');
      const { receipt, cancellation_requested } = await client.detail(id);
      expect(cancellation_requested).toBe(true);
      expect(receipt?.interaction?.stdin === undefined).toBe(second.includes(id));
    }
  });

  slowTest(
    'if the wall limit is reached while both programs wait for each other, a deadlock is reported',
    {
      tags: ['Interaction-9'],
    },
    async () => {
      // Even on a busy host, both programs must begin to wait before the limit is reached.
      const limits = { wall_seconds: 6 };
      const dead = await ran(rig(), { ...python('input()', { limits }), interactor: python('input()') });
      expect([dead.program.terminal_reason, ...ends(dead)]).toEqual(['wall_limit', 'deadlock', 'deadlock']);
      const writes = 'for _ in range(4999): print("x" * 999)\n';
      const full = await ran(rig(), { ...python(`${writes}input()`, { limits }), interactor: python(writes) });
      expect([full.program.terminal_reason, ...ends(full)]).toEqual(['wall_limit', 'deadlock', 'deadlock']);
      const busy = python(
        'while True:\n  try: print(len([*open(0)]))\n  except ValueError: break\n  for _ in range(10**7): pass',
      );
      const endless = python('while True: pass', { limits: { wall_seconds: 2 } });
      const slow = await ran(rig(), { ...endless, interactor: busy });
      expect([slow.program.terminal_reason, ...ends(slow)]).toEqual(['wall_limit', 'first', 'second']);
    },
  );
});

describe('a pair', () => {
  const rig = useRig({
    provider: 'subprocess',
    concurrency: '2',
    'tenant-concurrency': '1',
    'concurrent-mem-mb-max': '512',
  });
  const single = useRig({ provider: 'subprocess', concurrency: '1' });
  const pair = { ...python(ASKS), interactor: python(ANSWERS) };

  test('is refused if it has its own stdin, or an invalid member in its interactor', {
    tags: ['Interaction-4', 'Submission-2'],
  }, async () => {
    const before = await rig().jobCount();
    const refused = async (submission: object) => (await rig().post(submission)).json.error.message as string;
    expect(refusalOf(await rig().post({ ...pair, stdin: '' }))).toEqual([400, 'invalid_request']);
    expect(await refused({ ...pair, stdin: 'text' })).toMatch(/^\/stdin must be left out/);
    for (const [member, value] of [
      ['stdin', null],
      ['interactor', python(':')],
      ['language', 'none'],
      ['runtime', 'none'],
      ['files', [{ path: 'output/a', content_base64: '' }]],
      ['files', [{ path: 'input/a', blob: `sha256:${digestOf('none')}` }]],
      ['limits', { allow_network: true }],
    ] as const)
      expect(await refused({ ...pair, interactor: { ...pair.interactor, [member]: value } })).toMatch(/^\/interactor/);
    expect(await rig().jobCount()).toBe(before);
  });

  test('is refused if no node runs two jobs at once', { tags: ['Interaction-4'] }, async () => {
    const answer = await single().post(pair);
    expect(refusalOf(answer)).toEqual([422, 'runtime_unavailable']);
    expect(answer.json.error.message).toMatch(/^\/interactor .*two slots/);
    expect(await single().jobCount()).toBe(0);
  });

  test('runs even if its tenant may run only one job, and each program then gets at most half of the memory', {
    tags: ['Interaction-5', 'Interaction-6'],
  }, async () => {
    const many = await Promise.all(
      Array.from({ length: 6 }, () => ran(rig(), { ...pair, limits: { mem_mb: 400 }, interactor: pair.interactor })),
    );
    for (const { program, interactor } of many) {
      expect([program.status, interactor.status]).toEqual(['succeeded', 'succeeded']);
      expect(program.requested_spec.limits?.mem_mb).toBe(256);
      expect(program.started_at).toBe(interactor.started_at);
    }
    // Each pair starts after the previous pair has ended.
    const times = many.map(({ program }) => [program.started_at ?? '', program.finished_at ?? '']);
    const inOrder = times.toSorted(([one = ''], [other = '']) => one.localeCompare(other)).flat();
    expect(inOrder).toEqual(inOrder.toSorted((one, other) => one.localeCompare(other)));
  });

  test('has one idempotency key; a submission under that key with another interactor is refused', {
    tags: ['Interaction-7'],
  }, async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const first = await rig().post(pair, { headers });
    const again = await rig().post(pair, { headers });
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.json).toEqual(first.json);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    for (const other of [pair.interactor, python('input()')]) {
      const { interactor: _, ...alone } = pair;
      const answer = await rig().post(other === pair.interactor ? alone : { ...pair, interactor: other }, { headers });
      expect(refusalOf(answer)).toEqual([422, 'idempotency_key_reused']);
    }
  });
});
