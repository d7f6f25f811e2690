/** However a process ends, its acknowledged changes are stored, and refused changes are not. These tests kill real processes. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { eventHash, GENESIS_HASH, type LinkedEvent } from '@vouchbox/evidence';
import type { JobEvent } from '@vouchbox/protocol';
import { expect, test } from 'vitest';
import { listed } from './kept/listed.fixture.ts';
import type { JobKey } from './records/rows.ts';
import { admitJob, TestStore } from './store.fixture.ts';
import type { Store } from './store.ts';

const OPEN_STORE = new URL('./open-store.ts', import.meta.url).href;
const FIXTURE = new URL('./store.fixture.ts', import.meta.url).href;

/** Runs jobs over and over, twenty at a time, and writes a line for each fact that the store acknowledged. */
const WRITER = `
  import { writeSync } from 'node:fs';
  import { openStore } from '${OPEN_STORE}';
  import { admitJob, finishOf, startOf, stdout } from '${FIXTURE}';
  const tell = (fact, key) => {
    for (;;) {
      try {
        return writeSync(1, fact + ' ' + key.tenant + ' ' + key.job_id + '\\n');
      } catch (error) {
        // The reader is behind: the line was not taken, so it is offered again.
        if (error.code !== 'EAGAIN') throw error;
      }
    }
  };
  const store = await openStore({ dataDir: process.argv[1] });
  async function life(slot) {
    for (;;) {
      const key = await admitJob(store, { tenant: 'tenant-' + (slot % 3) });
      tell('admitted', key);
      await store.start(startOf(key));
      tell('started', key);
      for (let line = 0; line < 5; line++) {
        await store.append(key, [stdout('a ' + line), stdout('b ' + line)]);
        tell('appended', key);
      }
      await store.finish(finishOf(key));
      tell('finished', key);
    }
  }
  await Promise.all(Array.from({ length: 20 }, (_, slot) => life(slot)));
`;

type Fact = 'admitted' | 'started' | 'appended' | 'finished';

/** Kills the process after `lines` lines, and counts for each job how often each fact was acknowledged before that. */
async function acknowledgedBeforeKill(directory: string, lines: number): Promise<Map<string, Map<Fact, number>>> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', WRITER, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const facts = new Map<string, Map<Fact, number>>();
  let seen = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const [fact, ...key] = line.split(' ') as [Fact, string, string];
    const ofJob = facts.get(key.join(' ')) ?? new Map<Fact, number>();
    facts.set(key.join(' '), ofJob.set(fact, (ofJob.get(fact) ?? 0) + 1));
    if (++seen === lines) child.kill('SIGKILL');
  }
  await gone(child);
  return facts;
}

async function gone(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

function expectChain(events: readonly JobEvent[]): void {
  let previous = GENESIS_HASH;
  for (const [index, event] of events.entries()) {
    expect([event.seq, event.prev_hash]).toEqual([index + 1, previous]);
    expect(event.event_hash).toBe(eventHash(event as LinkedEvent));
    previous = event.event_hash ?? '';
  }
}

function keyOf(job: string): JobKey {
  const [tenant = '', job_id = ''] = job.split(' ');
  return { tenant, job_id };
}

async function expectFacts(store: Store, key: JobKey, facts: ReadonlyMap<Fact, number>): Promise<void> {
  const job = await store.job(key);
  const events = (await store.events({ key, after: 0, limit: 1000 }))?.events ?? [];
  expectChain(events);
  const count = (kind: string) => events.filter((event) => event.kind === kind).length;
  expect(count('queued')).toBe(1);
  expect(count('started')).toBeGreaterThanOrEqual(facts.get('started') ?? 0);
  expect(count('stdout') / 2).toBeGreaterThanOrEqual(facts.get('appended') ?? 0);
  expect(count('stdout') % 2).toBe(0);
  expect(count('finished')).toBeGreaterThanOrEqual(facts.get('finished') ?? 0);
  expect(job?.receipt_json === null).toBe(count('finished') === 0);
  expect(job?.status).toBe(['queued', 'running', 'succeeded'][count('started') + count('finished')]);
}

test('every acknowledged fact survives kill -9, and no change is half stored', {
  timeout: 60_000,
  tags: ['What-3a'],
}, async () => {
  await using testStore = new TestStore();
  const facts = new Map<string, Map<Fact, number>>();
  for (const lines of [1, 50, 700, 1500]) {
    for (const [job, ofJob] of await acknowledgedBeforeKill(testStore.directory, lines)) facts.set(job, ofJob);
  }
  const store = await testStore.reopen();
  expect(facts.size).toBeGreaterThan(100);
  for (const [job, ofJob] of facts) await expectFacts(store, keyOf(job), ofJob);
  const running = await store.runningJobs();
  const { running: counted, outbox } = await store.counts();
  expect(counted).toBe(running.length);
  expect(outbox).toBe((await store.outbox({ now: '2999', limit: 100_000 })).length);
});

test('a store that lost its write-ahead log is refused, until its owner accepts the loss (STORE-05)', {
  tags: ['STORE-05'],
}, async () => {
  await using testStore = new TestStore();
  await acknowledgedBeforeKill(testStore.directory, 5);
  rmSync(`${testStore.path}-wal`);
  await expect(testStore.reopen()).rejects.toMatchObject({ code: 'corrupt' });
  await expect(testStore.reopen()).rejects.toMatchObject({ code: 'corrupt' });
  rmSync(`${testStore.path}-lock`);
  await (await testStore.reopen()).probe();
});

/** Long enough that a timeout means a hang, not a busy machine. */
const patient = { timeout: 300_000 };

/** Kinds of damage to the log of a killed service's store. `marked` is how many frames were certainly acknowledged. */
const LOST: readonly [string, (log: Buffer, marked: number) => Buffer][] = [
  ['cut behind its first commits', (log) => log.subarray(0, 32 + 12 * FRAME)],
  ['cut in the middle of a frame', (log, marked) => log.subarray(0, middleOf(marked))],
  ['cut by one frame', (log, marked) => log.subarray(0, 32 + (marked - 1) * FRAME)],
  ['of which one bit has turned', (log, marked) => withTurnedBit(log, middleOf(marked))],
];
/** The size of a frame: a page of 4 KiB and its header. */
const FRAME = 4096 + 24;
/** An offset in the middle one of the first `frames` frames. Later frames may be from before the log started again. */
const middleOf = (frames: number) => 32 + Math.floor(frames / 2) * FRAME + 100;

function withTurnedBit(log: Buffer, at: number): Buffer {
  const turned = Buffer.from(log);
  turned[at] = (turned[at] ?? 0) ^ 1;
  return turned;
}

test(
  'a store whose log lost acknowledged data is refused until its owner accepts the loss, and is then consistent (STORE-03)',
  patient,
  async () => {
    await using testStore = new TestStore();
    const facts = await acknowledgedBeforeKill(testStore.directory, 100);
    const log = readFileSync(`${testStore.path}-wal`);
    const beside = ['', '-lock', '-mark'].map(
      (end) => [testStore.path + end, readFileSync(testStore.path + end)] as const,
    );
    const marked = readFileSync(`${testStore.path}-mark`).readUInt32LE(8);
    const kept = new Set<number>();
    const acknowledged = [...facts.keys()].filter((job) => job.startsWith('tenant-1 '));
    for (const [damage, damaged] of LOST) {
      for (const [path, content] of beside) writeFileSync(path, content);
      writeFileSync(`${testStore.path}-wal`, damaged(log, marked));
      const refused = await testStore.reopen().catch((error: unknown) => error);
      expect({ damage, refused }).toMatchObject({ damage, refused: { code: 'corrupt' } });
      rmSync(`${testStore.path}-lock`);
      const store = await testStore.reopen();
      const tenant = 'tenant-1';
      const jobs = await listed(store, { tenant });
      for (const { job_id } of jobs) await expectFacts(store, { tenant, job_id }, new Map());
      kept.add(jobs.length);
      await testStore.close();
    }
    expect(Math.min(...kept)).toBeLessThan(acknowledged.length);
  },
);

test(
  'nothing is lost through an unfinished write after the last commit, or a missing -shm file (STORE-03, STORE-05)',
  patient,
  async () => {
    await using testStore = new TestStore();
    const facts = await acknowledgedBeforeKill(testStore.directory, 200);
    rmSync(`${testStore.path}-shm`);
    appendFileSync(`${testStore.path}-wal`, readFileSync(`${testStore.path}-wal`).subarray(32, 32 + FRAME + 100));
    const store = await testStore.reopen();
    for (const [job, ofJob] of facts) await expectFacts(store, keyOf(job), ofJob);
  },
);

test('an older copy of a store is refused', async () => {
  await using testStore = await TestStore.open();
  await testStore.close();
  const copy = readFileSync(testStore.path);
  await testStore.reopen();
  await testStore.close();
  writeFileSync(testStore.path, copy);
  await expect(testStore.reopen()).rejects.toMatchObject({ code: 'corrupt' });
});

test('a store that was not closed by its process can be opened again', async () => {
  await using testStore = await TestStore.open();
  const key = await admitJob(testStore.store);
  await testStore.close();
  const leave = `
    import { openStore } from '${OPEN_STORE}';
    import { startOf } from '${FIXTURE}';
    const store = await openStore({ dataDir: process.argv[1] });
    await store.start(startOf(JSON.parse(process.argv[2])));
    process.exit();`;
  const node = ['--input-type=module', '--eval', leave, testStore.directory, JSON.stringify(key)];
  expect(spawnSync(process.execPath, node, { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
  expect((await (await testStore.reopen()).job(key))?.status).toBe('running');
});

/** Fills a small file system through the store, then makes room again. Prints what happened, as JSON. */
const FILLER = `
  import { readdirSync, rmSync, writeFileSync, writeSync } from 'node:fs';
  import { openStore } from '${OPEN_STORE}';
  import { admission, admitJob, finishOf, runJob, SPEC, stdout } from '${FIXTURE}';
  const directory = process.argv[1];
  for (const name of ['/ballast', '/more']) writeFileSync(directory + name, new Uint8Array(1_500_000));
  const store = await openStore({ dataDir: directory });
  const codeOf = (call) => call.then(() => 'stored', (error) => error.code);
  const running = await runJob(store);
  const requested_spec = { ...SPEC, code: 'x'.repeat(100_000) };
  const inputs = Array.from({ length: 200 }, () => admission({ requested_spec }));
  const admitted = [];
  for (const input of inputs) admitted.push(await codeOf(store.admit(input)));
  const together = await Promise.all(inputs.slice(150).map((input) => codeOf(store.admit({ ...input, job_id: input.job_id + 'x' }))));
  const probe = await codeOf(store.probe());
  const read = (await store.jobSummary(running)).status;
  rmSync(directory + '/ballast');
  const finished = await codeOf(store.finish(finishOf(running)));
  const stored = await Promise.all(inputs.map((input) => store.jobSummary(input)));
  await store[Symbol.asyncDispose]();
  const whileFull = await openStore({ dataDir: directory }).then(
    (opened) => opened[Symbol.asyncDispose]().then(() => 'opened'), (error) => error.code);
  rmSync(directory + '/more');
  const again = await openStore({ dataDir: directory });
  const kept = await Promise.all(inputs.map((input) => again.jobSummary(input)));
  writeSync(1, JSON.stringify({
    admitted, together, probe, read, finished, whileFull,
    stored: stored.map((job) => job !== null), kept: kept.map((job) => job !== null),
    status: (await again.jobSummary(running)).status,
  }));
  await again[Symbol.asyncDispose]();
`;

interface Filled {
  readonly admitted: string[];
  readonly together: string[];
  readonly probe: string;
  readonly read: string;
  readonly finished: string;
  readonly whileFull: string;
  readonly stored: boolean[];
  readonly kept: boolean[];
  readonly status: string;
}

const mountsAllowed = spawnSync('unshare', ['--mount', 'true']).status === 0;

test.skipIf(!mountsAllowed)(
  'a store on a full disk stores no part of a refused change, and continues when there is room',
  async () => {
    await using testStore = new TestStore();
    const mount = 'mount -t tmpfs -o size=12m tmpfs "$1" && exec "$2" --input-type=module --eval "$3" "$1"';
    const child = spawnSync(
      'unshare',
      ['--mount', 'sh', '-c', mount, 'sh', testStore.directory, process.execPath, FILLER],
      {
        encoding: 'utf8',
      },
    );
    expect(child.stderr).toBe('');
    const filled = JSON.parse(child.stdout) as Filled;
    expect(new Set(filled.admitted)).toEqual(new Set(['stored', 'full']));
    expect(filled.stored).toEqual(filled.admitted.map((code) => code === 'stored'));
    expect(filled.kept).toEqual(filled.stored);
    expect(filled.together).toContain('full');
    expect(['full', 'opened']).toContain(filled.whileFull);
    expect(filled).toMatchObject({ read: 'running', finished: 'stored', status: 'succeeded' });
  },
);
