/**
 * What evidence costs. Attestations are compared with bare Ed25519 signing, in wall time and in CPU time, which varies less on a
 * busy machine. Also measured: how long attestations block the service's thread, how long it takes to recompute a long chain, and
 * how much later a service starts with a full store.
 */
import { sign } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { DatabaseSync } from 'node:sqlite';
import { chainEvents, eventText, GENESIS_HASH, sha256Hex, verifyChain } from '@vouchbox/evidence';
import type { EventBody, JobEvent } from '@vouchbox/protocol';
import { loadConfig, startService } from '@vouchbox/server';
import { createNudges } from '../packages/server/src/job/nudges.ts';
import { createObjectContents } from '../packages/server/src/job/object-contents.ts';
import { drainOutbox } from '../packages/server/src/job/sign/drain.ts';
import { openSigningKeys } from '../packages/server/src/job/sign/keys/signing-keys.ts';
import { Signer } from '../packages/server/src/job/sign/signer.ts';
import { attestationBytes } from '../packages/server/src/job/view/attestation.ts';
import { openStore } from '../packages/server/src/store/open-store.ts';
import type { JobKey } from '../packages/server/src/store/records/rows.ts';
import { finishOf, runJob, stdout } from '../packages/server/src/store/store.fixture.ts';
import type { Store } from '../packages/server/src/store/store.ts';
import { createLog } from '../packages/server/src/telemetry/log/log.ts';
import { type Measurement, median } from './measurement.ts';

const backlogJobs = 10_000;
/**
 * How many jobs are attested before anything is measured. After the first few, the service's threads exist and its code is
 * compiled.
 */
const warmUpJobs = 1000;
/** Before a service starts with a full store, copying multiplies the store's jobs by this number. */
const storeCopies = 10;
const storedJobs = storeCopies * (warmUpJobs + backlogJobs);
const chainLength = 10_000;
const largeOutputBytes = 2 * 1024 * 1024;
const starts = 5;

/** Measures attestations, the delay that they cause, a chain and two starts. */
export async function measure(): Promise<readonly Measurement[]> {
  using scratch = scratchDirectory();
  const full = join(scratch.path, 'full');
  return [
    ...(await attestations(full)),
    ...(await largeResults(join(scratch.path, 'large'))),
    chainVerification(),
    await startTime(full, join(scratch.path, 'empty')),
  ];
}

/**
 * Reads, checks, signs and stores the backlog of a service that could not sign for a while, with one commit for each group.
 */
async function attestations(dataDir: string): Promise<Measurement[]> {
  await using store = await openStore({ dataDir });
  await using signer = new Signer();
  await backlog(store, warmUpJobs);
  await drained(store, { dataDir, signer });
  const jobs = await backlog(store, backlogJobs);
  const before = bareSignatures(dataDir);
  const { milliseconds, microsecondsOfCpu, delay } = await drained(store, { dataDir, signer });
  const after = bareSignatures(dataDir);
  const attested = await store.jobSummary(jobs.at(-1) ?? missing());
  if (attested?.attestation_available !== true) throw new Error('the backlog was not attested');
  return [
    {
      what: `attestations, of a backlog of ${backlogJobs}`,
      value: backlogJobs / (milliseconds / 1000),
      unit: '/s',
      baseline: { what: 'bare Ed25519 signing', value: mean(before.perSecond, after.perSecond) },
    },
    {
      what: 'CPU time of one, all threads together',
      value: microsecondsOfCpu / backlogJobs,
      unit: 'µs',
      baseline: { what: 'bare Ed25519 signing', value: mean(before.microsecondsOfCpu, after.microsecondsOfCpu) },
    },
    {
      what: "delay of the service's thread meanwhile, at most",
      value: delay.max / 1e6,
      unit: 'ms',
      baseline: { what: 'idle', value: await idleDelay() },
    },
  ];
}

function backlog(store: Store, length: number): Promise<JobKey[]> {
  return Promise.all(Array.from({ length }, () => endedJob(store, [stdout('hello')])));
}

/** How long signing and serving the largest possible output block the service's thread. */
async function largeResults(dataDir: string): Promise<Measurement[]> {
  await using store = await openStore({ dataDir });
  const lines = Array.from({ length: 10_000 }, (_, at) => stdout(`${at}`.padEnd(104, 'é')));
  const errors = lines.map(
    ({ data, timestamp }): EventBody => ({ kind: 'stderr', timestamp, data: data as { text: string } }),
  );
  const bytes = lines.reduce((sum, { data }) => sum + 2 * Buffer.byteLength((data as { text: string }).text), 0);
  const what = `10 results of ${(bytes / largeOutputBytes).toFixed(1)} × 2 MiB in 20,000 events, at most`;
  const jobs: JobKey[] = [];
  for (let ordinal = 0; ordinal < 10; ordinal++) jobs.push(await endedJob(store, [...lines, ...errors]));
  await using signer = new Signer();
  const { delay } = await drained(store, { dataDir, signer });
  const served = await servingDelay(store, { jobs, dataDir });
  const baseline = { what: 'idle', value: await idleDelay() };
  return [
    { what: `delay by signing ${what}`, value: delay.max / 1e6, unit: 'ms', baseline },
    { what: `delay by serving ${what}`, value: served, unit: 'ms', baseline },
  ];
}

/** How late timers were, in milliseconds, while attestations were prepared as the API prepares them. */
async function servingDelay(
  store: Store,
  { jobs, dataDir }: { readonly jobs: readonly JobKey[]; readonly dataDir: string },
): Promise<number> {
  const served = {
    store,
    keys: openSigningKeys(dataDir),
    isSigning: true,
    nudges: createNudges(),
    objects: createObjectContents(null, createLog('error')),
    log: createLog('error'),
  };
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  for (const key of jobs) await attestationBytes(key, 'result_artifact', served);
  delay.disable();
  return delay.max / 1e6;
}

function chainVerification(): Measurement {
  const bodies = Array.from({ length: chainLength }, (_, at) => stdout(`line ${at}`));
  const events = chainEvents({ job_id: 'job_1', seq: 0, head: GENESIS_HASH }, bodies);
  return {
    what: `events of a chain of ${chainLength} recomputed`,
    value: perSecond(events, () => {
      if (verifyChain(events).kind !== 'intact') throw new Error('the chain is broken');
    }),
    unit: '/s',
    baseline: { what: 'bare SHA-256 of the same texts', value: bareDigests(events) },
  };
}

async function startTime(full: string, empty: string): Promise<Measurement> {
  multiply(join(full, 'svc.db'), storeCopies);
  const [value, baseline] = [await medianStart(full), await medianStart(empty)];
  return {
    what: `start with ${storedJobs} attested jobs in the store`,
    value,
    unit: 'ms',
    baseline: { what: 'with none', value: baseline },
  };
}

async function endedJob(store: Store, events: readonly EventBody[]): Promise<JobKey> {
  const key = await runJob(store);
  await store.append(key, events);
  await store.finish(finishOf(key));
  return key;
}

/** Drains the outbox as the attestor does. Returns the time, the CPU time, and how late this thread's timers were. */
async function drained(store: Store, { dataDir, signer }: { readonly dataDir: string; readonly signer: Signer }) {
  const keys = openSigningKeys(dataDir);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const [startedAt, cpu] = [performance.now(), process.cpuUsage()];
  await drainOutbox({
    store,
    signer,
    nudges: createNudges(),
    log: createLog('error'),
    currentKey: () => keys.current(),
    signal: new AbortController().signal,
  });
  const milliseconds = performance.now() - startedAt;
  const microsecondsOfCpu = cpuSince(cpu);
  delay.disable();
  return { milliseconds, microsecondsOfCpu, delay };
}

/** Signs messages and does nothing else. The key and the messages' length are those of attestations. */
function bareSignatures(dataDir: string): { perSecond: number; microsecondsOfCpu: number } {
  const { privateKey } = openSigningKeys(dataDir).current();
  const message = Buffer.alloc(3300, 'x');
  const cpu = process.cpuUsage();
  let count = 0;
  const perSecond = countPerSecond(() => {
    sign(null, message, privateKey);
    count++;
  });
  return { perSecond, microsecondsOfCpu: cpuSince(cpu) / count };
}

function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

function mean(one: number, other: number): number {
  return (one + other) / 2;
}

function bareDigests(events: readonly JobEvent[]): number {
  const texts = events.map((event) => eventText({ ...event, prev_hash: event.prev_hash ?? GENESIS_HASH }));
  return perSecond(texts, () => {
    for (const text of texts) sha256Hex(text);
  });
}

function perSecond(items: readonly unknown[], work: () => void): number {
  return countPerSecond(work) * items.length;
}

function countPerSecond(work: () => unknown): number {
  const startedAt = performance.now();
  let count = 0;
  while (performance.now() - startedAt < 1000) {
    work();
    count++;
  }
  return count / ((performance.now() - startedAt) / 1000);
}

async function idleDelay(): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await new Promise((resolve) => setTimeout(resolve, 500));
  delay.disable();
  return delay.max / 1e6;
}

/** Copies every job in a store under other ids, so that the store then has `times` times as many jobs. */
function multiply(path: string, times: number): void {
  using database = new DatabaseSync(path);
  database.exec('pragma foreign_keys = off');
  for (const table of ['jobs', 'job_specs', 'events', 'output_runs', 'receipts', 'attestations']) {
    const columns = database
      .prepare(`pragma table_info(${table})`)
      .all()
      .map(({ name }) => String(name));
    for (let copy = 1; copy < times; copy++) {
      const renamed = columns.map((name) => (name === 'job_id' ? `job_id || '-${copy}'` : name));
      database.exec(
        `insert into ${table} (${columns.join(', ')}) select ${renamed.join(', ')} from ${table} where length(job_id) = 40`,
      );
    }
  }
}

async function medianStart(dataDir: string): Promise<number> {
  const times: number[] = [];
  for (let start = 0; start < starts; start++) {
    const startedAt = performance.now();
    const flags = { 'data-dir': dataDir, port: '0', provider: 'subprocess', 'log-level': 'silent' };
    await using _service = await startService(loadConfig({}, flags));
    times.push(performance.now() - startedAt);
  }
  return median(times);
}

function scratchDirectory(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

function missing(): never {
  throw new Error('there is no job');
}
