/**
 * What attacks on the HTTP side cost other clients. Each attack runs for a while from a separate process, against its own service
 * with default settings. The baseline is the same service just before the attack. Attacker, service and bystander share this host
 * and its address. This is the worst case for the bystander.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServiceClient } from '@vouchbox/client';
import {
  ATTACKS,
  type Attack,
  type AttackingTenant,
  type AttackName,
  type Done,
  type Plan,
} from './attacks/attacker.ts';
import { type Experience, experience } from './attacks/bystander.ts';
import { residentMib, type Served, serveService } from './http/processes.ts';
import type { Measurement } from './measurement.ts';

const attackerProgram = new URL('./attacks/attacker.ts', import.meta.url);

const tenantsMax = 10;
const MALLORY = Array.from({ length: tenantsMax }, (_, index) => `mallory-${index + 1}`);
const keyOf = (tenant: string) => `key-of-${tenant}`;
const BETA = keyOf('beta');

const SETTINGS = {
  'legacy-keys': [...MALLORY, 'beta'].map((tenant) => `${tenant}=${keyOf(tenant)}`).join(),
  'free-space-reserve-mb': '0',
  'drain-seconds': '0',
};
/** More slots than the attacker's long jobs take. This bench does not measure what happens if slots run out. */
const SLOTS = { concurrency: '16' };

const secondsDefault = 60;
/** The baseline is measured for a quarter of the attack's time, but at least for this many seconds. */
const baselineSecondsMin = 5;

export interface AttackOptions {
  /** How long each attack runs. */
  readonly seconds?: number | undefined;
  /** Run only attacks whose names begin with this text. Default: all attacks. */
  readonly only?: string | undefined;
}

/** Runs the attacks, one after the other. */
export async function* measure({ seconds = secondsDefault, only = '' }: AttackOptions): AsyncGenerator<Measurement> {
  for (const name of Object.keys(ATTACKS) as AttackName[]) {
    if (name.startsWith(only)) yield* await under(name, seconds);
  }
}

/** How much memory an attack may add to the service, in MiB. */
const memoryMibMax = 64;

async function under(name: AttackName, seconds: number): Promise<Measurement[]> {
  using scratch = scratchDirectory();
  const plan: Plan = ATTACKS[name];
  const settings = plan.has === 'a running job' ? { ...SETTINGS, ...SLOTS } : SETTINGS;
  await using service = await serveService(settings, scratch.path);
  const tenants = await tenantsOf(plan, service);
  await warmUp(service, tenants[0]);
  const bystander = { service, key: BETA, job: await endedJob(service) };
  await experience(bystander, baselineSecondsMin);
  const idle = residentMib(service.pid);
  const before = await experience(bystander, Math.max(baselineSecondsMin, seconds / 4));
  using attacker = new Attacker();
  attacker.begin({ kind: name, port: service.port, tenants });
  const during = await experience(bystander, seconds);
  return rows(name, { idle, before, during, done: await attacker.stop() });
}

interface Told {
  /** The service's resident memory after it has served for a while, in MiB. */
  readonly idle: number;
  readonly before: Experience;
  readonly during: Experience;
  readonly done: Done;
}

function rows(name: AttackName, { idle, before, during, done }: Told): Measurement[] {
  const row = (what: string, pick: (of: Experience) => number) => ({
    what: `  ${what}`,
    value: pick(during),
    baseline: { what: 'without an attack', value: pick(before) },
  });
  const sent = `${done.connections} connections, ${Math.round(done.bytes / 2 ** 20)} MiB sent`;
  return [
    {
      what: `${name}: tries of others that failed`,
      value: during.retries,
      unit: 'cases',
      baseline: { what: 'without an attack', value: before.retries },
      note: `${ATTACKS[name].what}; ${sent}`,
    },
    { ...row('/healthz, 99th percentile', ({ healthP99 }) => healthP99), unit: 'ms', valueMax: 100 },
    { ...row('a submission, 99th percentile', (of) => of.submissionP99), unit: 'ms', valueMax: 250 },
    { ...row('memory, at most', ({ memory }) => memory), unit: 'MiB', valueMax: Math.round(idle + memoryMibMax) },
    { ...row('wall limit of 1 s, late by at most', ({ wallLateness }) => wallLateness), unit: 'ms' },
    { ...row('main thread without a core', ({ coreWait }) => coreWait), unit: '%' },
  ];
}

/** The attacker's tenants, each with what the attack needs. The first tenant always has a large result. */
async function tenantsOf({ tenants = 1, has }: Plan, service: Served): Promise<AttackingTenant[]> {
  const made: AttackingTenant[] = [];
  for (const key of MALLORY.slice(0, tenants).map(keyOf)) {
    const needsResult = made.length === 0 || has === 'a large result';
    const result = needsResult ? await largeResult(service, key) : '';
    made.push({ key, result, running: has === 'a running job' ? await runningJob(service, key) : '' });
  }
  return made;
}

const clientOf = ({ port }: Served, apiKey: string) =>
  createServiceClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey });

/** The path of a job that outlasts every attack. */
async function runningJob(service: Served, key: string): Promise<string> {
  const limits = { wall_seconds: 300 };
  const { job_id } = await clientOf(service, key).submit({ language: 'bash', code: 'sleep 300', limits });
  return `/v1/jobs/${job_id}`;
}

/** The path of one of the bystander's jobs, which has ended. */
async function endedJob(service: Served): Promise<string> {
  const api = clientOf(service, BETA);
  const { job_id } = await api.submit({ language: 'bash', code: 'true' });
  await api.waitForResult(job_id);
  return `/v1/jobs/${job_id}`;
}

/** Runs a job with a result of about 7 MB for the attacker, and returns the path of the result. */
async function largeResult(service: Served, key: string): Promise<string> {
  const api = clientOf(service, key);
  const code = 'yes | head -c 1000000; for n in 1 2; do head -c 2000000 /dev/urandom > output/$n; done';
  const { job_id } = await api.submit({ language: 'bash', code, outputs: ['output/1', 'output/2'] });
  const { artifacts } = await api.waitForResult(job_id);
  if (artifacts.length !== 2) throw new Error('the large result is not complete');
  return `/v1/jobs/${job_id}/result`;
}

/** Reads large answers, because first use makes a fresh heap grow. After that, the heap grows only if memory is held. */
async function warmUp({ port }: Served, tenant: AttackingTenant | undefined): Promise<void> {
  const headers = { authorization: `Bearer ${tenant?.key}` };
  const read = async () => (await fetch(`http://127.0.0.1:${port}${tenant?.result}`, { headers })).arrayBuffer();
  for (let round = 0; round < 3; round++) await Promise.all(Array.from({ length: 12 }, read));
}

/** The attacker's process. Disposing ends it. */
class Attacker implements Disposable {
  readonly #child: ChildProcess = fork(attackerProgram);

  begin(attack: Attack): void {
    this.#child.send(attack);
  }

  async stop(): Promise<Done> {
    this.#child.send('stop');
    const [done] = (await once(this.#child, 'message')) as [Done];
    return done;
  }

  [Symbol.dispose](): void {
    this.#child.disconnect();
  }
}

function scratchDirectory(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}
