/** Attacks on the whole service: on what it admits, on how many jobs it runs, and on what it does after a failure. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type JobDetail, type JobSubmission, LIMIT_CEILINGS, LIMIT_NAMES } from '@vouchbox/protocol';
import { hasOneUser } from '../../packages/server/src/sandbox/kernel/user-namespace/mapped-users.ts';
import { instanceOf } from '../rig/leftovers.ts';
import { Rig, type RigSettings } from '../rig/rig.ts';
import { groupMembers, groupNames, statusOf } from './host-groups.ts';
import type { HostileCase, HostileClass } from './hostile-case.ts';
import { namespaceLauncher } from './launchers.ts';
import { sizeFor } from './size.ts';
import { programOf } from './target.ts';

const MIB = 1024 * 1024;
const WAITING: JobSubmission = { language: 'bash', code: 'echo up; exec sleep 300', limits: { wall_seconds: 300 } };

/** Starts a service for one case, and requires that the service leaves nothing behind. */
async function withService(settings: RigSettings, use: (rig: Rig) => Promise<void>): Promise<void> {
  const rig = await Rig.start({ 'drain-seconds': '0', 'namespace-launcher': namespaceLauncher(), ...settings });
  try {
    await use(rig);
  } finally {
    assert.deepEqual(await rig.stop(), []);
  }
}

/** A hostile program as a client submits it. */
function submissionOf(program: string, values: Readonly<Record<string, string | number>> = {}): JobSubmission {
  const { language, code } = programOf({ program, values });
  return { language, code, limits: { wall_seconds: 60, cpu_seconds: 30 } };
}

/** Waits until a job has written output. */
async function up(rig: Rig, job_id: string): Promise<void> {
  for await (const { kind } of rig.alpha.client.follow(job_id)) if (kind === 'stdout' || kind === 'finished') return;
}

/** A submission in which each of these limits has this text as its value. */
function members(names: readonly string[], value: string): string {
  return `{"language":"bash","code":"true","limits":{${names.map((name) => `"${name}":${value}`).join(',')}}}`;
}
const member = (value: string) => (name: string) => members([name], value);

/** Limits as a client might send them, each with the answer's status. */
const LIMITS: readonly { readonly body: string; readonly status: 201 | 400 }[] = [
  ...['0', '-1', 'null', '"5"', '[]', '{}', 'true', '-1e400', '-0'].flatMap((value) =>
    LIMIT_NAMES.map((name) => ({ body: member(value)(name), status: 400 as const })),
  ),
  ...['NaN', 'Infinity', '0x10', '01', '1.'].map((value) => ({ body: member(value)('mem_mb'), status: 400 as const })),
  ...['1e308', '1e400', '18446744073709551615', '1.5'].map((value) => ({
    body: members(LIMIT_NAMES, value),
    status: 201 as const,
  })),
  { body: members(['wall_seconds', 'cpu_seconds'], '0.5'), status: 201 },
  { body: members(['wall_seconds', 'cpu_seconds'], '0.0001'), status: 201 },
  { body: member('true')('allow_network'), status: 400 },
  { body: member('1')('disk_mb'), status: 400 },
  { body: member('1')('__proto__'), status: 400 },
  { body: '{"language":"bash","code":"true","limits":{"mem_mb":64,"mem_mb":65}}', status: 400 },
  { body: '{"language":"bash","code":"true","limits":{}}', status: 201 },
];

/** Output paths that must be refused. */
const PATHS: readonly string[] = [
  ...[
    '',
    '/',
    '.',
    '..',
    'output',
    'output/',
    '/etc/passwd',
    '/work/output/a',
    '../output/a',
    'output/..',
    'output/../a',
  ],
  ...[
    'output/../../etc/passwd',
    'output/./a',
    './output/a',
    'output//a',
    '/output/a',
    'output/a/',
    'output/a/..',
    'output/a/.',
  ],
  ...[
    'OUTPUT/a',
    'Output/a',
    'input/a',
    'tmp/a',
    'work/output/a',
    'output\\a',
    'output/a\\b',
    'output\\..\\a',
    'C:\\output\\a',
  ],
  ...[
    'output/a\0b',
    '\0output/a',
    'output/\0',
    'file:///etc/passwd',
    '~/output/a',
    'output/\ud800',
    `output/${'a'.repeat(256)}`,
  ],
  ...[`output/${'a/'.repeat(2048)}b`, 'ｏutput/a', 'output\u2044a', 'output\uff0fa', ' output/a', '\toutput/a'],
];
/** Sets of paths. Each set is refused, although each of its paths would be accepted alone. */
const PATH_SETS: readonly (readonly string[])[] = [
  ['output/a', 'output/a'],
  ['output/a', 'output/a/b'],
  ['output/a/b', 'output/a'],
  Array.from({ length: 33 }, (_, number) => `output/${number}`),
];

export const serviceCases: readonly HostileCase[] = [
  {
    id: 'ESC-25',
    title: 'a job waits while no cell can be made, claims nothing, and runs once one can',
    holds: 'a program is handed over only to a cell that was observed; the receipt states only what happened',
    needsRoot: true,
    // The case removes what crun needs to make a cell. A parked cell would still work, so no cell is parked.
    scenario: ({ hostileClass }) =>
      withService({ provider: hostileClass, 'namespace-launcher': 'crun', 'parked-mb-max': '0' }, waitForCells),
  },
  {
    id: 'ESC-32',
    title: 'a job admitted for gVisor does not run if only namespaces are left when its turn comes',
    holds: 'the minimum is checked again against the observed cell',
    classes: ['gvisor'],
    scenario: changeProviderAfterAdmission,
  },
  {
    id: 'RES-09',
    title: 'a service with eight flooding jobs answers, and stores the allowed output of each',
    holds: 'output is drained, counted and dropped beyond its cap',
    alone: true,
    scenario: ({ hostileClass }) => withService({ provider: hostileClass, concurrency: '8' }, floodService),
  },
  {
    id: 'RES-10',
    title: 'a flood of lines grows the store by no more than its caps',
    holds: 'a cap on records in addition to the cap on bytes',
    scenario: ({ hostileClass }) =>
      withService({ provider: hostileClass }, async (rig) => {
        const { result, events } = await rig.run(submissionOf('line-flood.py'));
        assert.deepEqual([result.status, result.truncated], ['succeeded', true]);
        assert.deepEqual([result.stdout.length, result.stderr.length], [20_000, 20_000]);
        assert.equal(events.filter(({ kind }) => kind === 'truncated').length, 2);
        assert.ok(databaseBytes(rig) < 24 * MIB, `${databaseBytes(rig)} bytes`);
      }),
  },
  {
    id: 'RES-21',
    title: 'the memory limits of running jobs never exceed the service’s total, and the kernel kills jobs first',
    holds: 'the dispatcher counts; jobs have the highest score for the kernel’s killer',
    scenario: ({ hostileClass }) =>
      withService({ provider: hostileClass, concurrency: '8', 'concurrent-mem-mb-max': '600' }, sumOfMemory),
  },
  {
    id: 'RES-23',
    title: 'many running jobs cancelled at once all end as cancelled',
    holds: 'a cancellation kills a group; none waits for another',
    alone: true,
    scenario: ({ hostileClass }) =>
      withService(stormSettings(hostileClass), (rig) => cancelStorm(rig, sizeFor(hostileClass, STORM))),
  },
  {
    id: 'RES-26',
    title: 'any text in place of a limit is refused or clamped, and no limit in force is above a ceiling',
    holds: 'one schema, strict JSON, and clamping',
    scenario: ({ hostileClass }) => withService({ provider: hostileClass, concurrency: '2' }, tryLimits),
  },
  {
    id: 'ART-08',
    title: 'every output path that does not lead below output/ is refused with 400, and nothing is stored',
    holds: 'one rule for paths',
    scenario: ({ hostileClass }) => withService({ provider: hostileClass }, tryPaths),
  },
];

/** How many jobs run when all are cancelled. */
const STORM = { namespace: 48, gvisor: 8, full: 200 } as const;

function stormSettings(provider: HostileClass): RigSettings {
  const concurrency = String(sizeFor(provider, STORM));
  // No cells are parked: they would be counted as leftovers.
  const many = { 'tenant-waits-max': '256', 'waits-max': '256', 'parked-mb-max': '0' };
  return { provider, concurrency, 'concurrent-mem-mb-max': '100000', ...many };
}

/** Moves the root of all cells away, as if the host had lost it, and back. A job waits for the root and then runs. */
async function waitForCells(rig: Rig): Promise<void> {
  const directory = join('/run/svc', instanceOf(rig.dataDir));
  const root = join(directory, readdirSync(directory).find((name) => name.startsWith('rootfs-')) as string);
  renameSync(root, `${root}-away`);
  let job_id: string;
  try {
    ({ job_id } = await rig.alpha.client.submit({ language: 'bash', code: 'echo ran' }));
    while ((await rig.request('/readyz', { key: null })).status !== 503) await pause(20);
    const { status, bootstrap_ready, networking, seccomp, effective_spec } = await rig.alpha.client.detail(job_id);
    assert.deepEqual(
      { status, bootstrap_ready, networking, seccomp, effective_spec },
      { status: 'queued', bootstrap_ready: null, networking: null, seccomp: null, effective_spec: null },
    );
  } finally {
    renameSync(`${root}-away`, root);
  }
  const { result, events } = await rig.ended(job_id);
  assert.equal(result.stdout, 'ran\n');
  assert.deepEqual(
    events.map(({ kind }) => kind),
    ['queued', 'started', 'stdout', 'finished'],
  );
}

async function changeProviderAfterAdmission(): Promise<void> {
  const first = await Rig.start({ provider: 'gvisor', concurrency: '1', 'drain-seconds': '0' });
  const blocker = await first.alpha.client.submit(WAITING);
  await up(first, blocker.job_id);
  const requirements = { minimum_isolation: 'gvisor-application-kernel' as const };
  const { job_id } = await first.alpha.client.submit({ language: 'bash', code: 'echo ran', requirements });
  assert.deepEqual(await first.stop('kept'), []);
  const second = await Rig.start({ provider: 'namespace' }, first.dataDir);
  try {
    const { detail, result, events } = await second.ended(job_id);
    assert.deepEqual([detail.status, detail.terminal_reason], ['error', 'isolation_unsatisfied']);
    assert.equal(result.stdout, '');
    assert.ok(!events.some(({ kind }) => kind === 'started' || kind === 'stdout'));
    const refused = await second.post({ language: 'bash', code: 'echo ran', requirements });
    assert.deepEqual([refused.status, refused.json.error.code], [422, 'minimum_isolation_unsatisfied']);
  } finally {
    assert.deepEqual(await second.stop(), []);
  }
}

async function floodService(rig: Rig): Promise<void> {
  const jobs = await Promise.all(
    Array.from({ length: 8 }, () => rig.alpha.client.submit(submissionOf('stdout-flood.py', { SECONDS: 2 }))),
  );
  const ended = Promise.all(jobs.map(({ job_id }) => rig.ended(job_id)));
  let isOver = false;
  void ended.finally(() => (isOver = true)).catch(() => {});
  const waits: number[] = [];
  while (!isOver) {
    const before = performance.now();
    assert.equal((await rig.request('/healthz', { key: null })).status, 200);
    waits.push(performance.now() - before);
  }
  for (const { result, detail } of await ended) {
    assert.deepEqual([result.status, result.truncated, result.stdout.length], ['succeeded', true, MIB]);
    const written = Number(result.stderr);
    assert.equal(detail.receipt?.executor_output?.stdout.bytes_seen, written);
  }
  const middle = waits.toSorted((a, b) => a - b)[Math.floor(waits.length / 2)] ?? Number.POSITIVE_INFINITY;
  assert.ok(middle < 500, `half of ${waits.length} answers took more than ${middle} ms`);
}

async function sumOfMemory(rig: Rig): Promise<void> {
  const job = { ...WAITING, code: 'echo up; exec sleep 1', limits: { mem_mb: 256, wall_seconds: 60 } };
  const jobs = await Promise.all(Array.from({ length: 6 }, () => rig.alpha.client.submit(job)));
  await up(rig, jobs[0]?.job_id as string);
  const scores = groupNames(rig.dataDir)
    .flatMap((group) => groupMembers(rig.dataDir, group))
    // The processes of cells run as other users than the service. The service is root.
    .filter((pid) => hasOneUser() || statusOf(pid, 'Uid') !== '0 0 0 0')
    .map((pid) => scoreOf(pid));
  assert.ok(Math.max(...scores) >= 500, `the highest score is ${Math.max(...scores)}`);
  const ended = await Promise.all(jobs.map(({ job_id }) => rig.ended(job_id)));
  assert.deepEqual([...new Set(ended.map(({ result }) => result.status))], ['succeeded']);
  const most = mostAtOnce(ended.map(({ detail }) => detail));
  assert.ok(most <= 2, `${most} jobs of 256 MiB ran at once`);
}

/** The largest number of these jobs that ran at the same moment. */
function mostAtOnce(jobs: readonly JobDetail[]): number {
  const times = jobs.map(({ started_at, finished_at }) => ({
    started: Date.parse(String(started_at)),
    finished: Date.parse(String(finished_at)),
  }));
  return Math.max(
    ...times.map(({ started }) => times.filter((job) => job.started <= started && started < job.finished).length),
  );
}

function scoreOf(pid: number): number {
  const path = `/proc/${pid}/oom_score_adj`;
  return existsSync(path) ? Number(readFileSync(path, 'utf8')) : 0;
}

async function cancelStorm(rig: Rig, count: number): Promise<void> {
  const jobs = await Promise.all(Array.from({ length: count }, () => rig.alpha.client.submit(WAITING)));
  for (const { job_id } of jobs) await up(rig, job_id);
  await Promise.all(jobs.map(({ job_id }) => rig.alpha.client.cancel(job_id)));
  const ended = await Promise.all(jobs.map(({ job_id }) => rig.ended(job_id)));
  assert.deepEqual(
    [...new Set(ended.map(({ detail }) => `${detail.status} ${detail.terminal_reason}`))],
    ['cancelled cancelled'],
  );
  assert.deepEqual(groupNames(rig.dataDir), []);
}

async function tryLimits(rig: Rig): Promise<void> {
  const admitted: string[] = [];
  for (const { body, status } of LIMITS) {
    const answer = await rig.post(body);
    assert.equal(answer.status, status, `${body}: ${answer.text}`);
    if (status === 201) admitted.push((answer.json as { job_id: string }).job_id);
  }
  assert.equal(await rig.jobCount(), admitted.length);
  for (const job_id of admitted) {
    const { requested_spec, effective_spec } = (await rig.ended(job_id)).detail;
    for (const name of LIMIT_NAMES) {
      assert.ok(Number(requested_spec.limits?.[name]) <= LIMIT_CEILINGS[name], `${name} of ${job_id}`);
      assert.ok(Number(effective_spec?.limits[name]) <= LIMIT_CEILINGS[name], `${name} of ${job_id}`);
    }
  }
}

async function tryPaths(rig: Rig): Promise<void> {
  for (const outputs of [...PATHS.map((path) => [path]), ...PATH_SETS]) {
    const answer = await rig.post({ language: 'bash', code: 'true', outputs });
    assert.equal(answer.status, 400, `${JSON.stringify(outputs).slice(0, 100)}: ${answer.text.slice(0, 200)}`);
  }
  const files = PATHS.map((path) => path.replace('output', 'input')).filter((path) => path !== 'input/a');
  for (const path of files) {
    const answer = await rig.post({ language: 'bash', code: 'true', files: [{ path, content_base64: '' }] });
    assert.equal(answer.status, 400, `${JSON.stringify(path).slice(0, 100)}: ${answer.text.slice(0, 200)}`);
  }
  assert.equal(await rig.jobCount(), 0);
}

function databaseBytes(rig: Rig): number {
  const files = readdirSync(rig.dataDir).filter((name) => name.startsWith('svc.db'));
  return files.reduce((sum, name) => sum + statSync(join(rig.dataDir, name)).size, 0);
}
