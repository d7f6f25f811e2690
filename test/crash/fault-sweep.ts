/**
 * Breaks the service at one named step after another. Each time, it starts the service again without a fault and audits
 * the promises. Nothing depends on time: a fault occurs at its step, and a step that is not reached is a problem.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceFailure, TransportFailure } from '@vouchbox/client';
import type { ServiceStatus } from '@vouchbox/protocol';
import { leftoversOf } from '../rig/leftovers.ts';
import { auditJobs, runProblems } from './audit.ts';
import { FAULT_VARIABLES, type FaultPoint, isKill, isParked } from './fault-points.ts';
import { CRASH_KEY, ServiceProcess } from './service-process.ts';
import { Witness } from './witness.ts';
import { crashClient, Workload } from './workload.ts';

const PRELOAD = new URL('./fault-preload.ts', import.meta.url).href;
/** Long enough for a busy machine: if a service still runs after this time, its fault did not kill it. */
const DEATH_MILLISECONDS_MAX = 120_000;
/** Long enough for a busy machine: a step that is not reached in this time does not occur. */
const REACHED_MILLISECONDS_MAX = 120_000;
/** How many languages have a parked cell once a service has started. */
const usualLanguages = 3;
/** The only line that a service prints if it cannot start. */
const ONE_LINE = /^vouchbox: [^\n]+$/;

/** What the service with the fault has in common with the services that run before and after it. */
interface Ordeal {
  readonly dataDir: string;
  readonly workload: Workload;
  readonly reached: string;
}

/** Runs a job at a service that breaks at this point, starts the service again without a fault, and names broken promises. */
export async function breakAt(point: FaultPoint): Promise<readonly string[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-faults-'));
  const aside = mkdtempSync(join(tmpdir(), 'svc-faults-aside-'));
  await using witness = await Witness.open();
  // For a fault at `append`, the program must still be running after its output was appended.
  const workload = new Workload(() => (point.step === 'append' ? 0.29 : 0.5), witness);
  const ordeal = { dataDir, workload, reached: join(aside, 'reached') };
  try {
    const told = await liveThrough(point, ordeal);
    const kept = await liveOn(ordeal, witness);
    return [...(wasReached(ordeal.reached) ? [] : ['the step was never reached']), ...told, ...kept];
  } finally {
    for (const directory of [dataDir, aside]) rmSync(directory, { recursive: true, force: true });
  }
}

/** Runs the service with its fault: the service may refuse, end or go on, but must not hang or report anything false. */
async function liveThrough(point: FaultPoint, ordeal: Ordeal): Promise<string[]> {
  if (point.step === 'recover') await leaveRunning(ordeal);
  await using service = new ServiceProcess({ ...ordeal, environment: armedWith(point, ordeal.reached) });
  const url = await service.listening.catch(() => null);
  if (url === null) {
    const { signal } = await service.exited;
    return isKill(point) || signal !== null ? endProblems(point, signal) : refusalProblems(service.said);
  }
  if (isParked(point)) await cellsWait(url);
  await submitOne(url, ordeal.workload);
  if (!isKill(point)) {
    await reachedAt(ordeal.reached);
    return await stillAnswers(url);
  }
  const end = await Promise.race([service.exited, delay(DEATH_MILLISECONDS_MAX, null, { ref: false })]);
  return endProblems(point, end?.signal ?? null);
}

function wasReached(file: string): boolean {
  return existsSync(file) && readFileSync(file, 'utf8') !== '';
}

/** Resolves once each usual language has a parked cell. */
async function cellsWait(url: string): Promise<void> {
  const deadline = performance.now() + REACHED_MILLISECONDS_MAX;
  const headers = { authorization: `Bearer ${CRASH_KEY}` };
  for (let cells = 0; cells < usualLanguages && performance.now() < deadline; await delay(10)) {
    const status = (await (await fetch(`${url}/v1/status`, { headers })).json()) as ServiceStatus;
    ({ cells } = status.parked);
  }
}

/** Waits until the step was reached, because some steps come after the job's end. */
async function reachedAt(file: string): Promise<void> {
  const deadline = performance.now() + REACHED_MILLISECONDS_MAX;
  while (!wasReached(file) && performance.now() < deadline) await delay(10);
}

/** Leaves a job in the status `running`, as a killed service does. */
async function leaveRunning({ dataDir, workload, reached }: Ordeal): Promise<void> {
  const environment = armedWith({ step: 'release', fault: 'killed after' }, `${reached}-before`);
  await using service = await ServiceProcess.start({ dataDir, environment });
  await submitOne(service.url, workload);
  await service.exited;
}

/** Runs the next service without a fault: every job exists, every job ends, and the service leaves nothing behind. */
async function liveOn({ dataDir, workload }: Ordeal, witness: Witness): Promise<string[]> {
  await using service = await ServiceProcess.start({ dataDir, environment: { SERVICE_STORE_CHECK: 'full' } });
  await workload.settle(service.url);
  const { problems } = await auditJobs(service.url, workload.promises, ['server_restarted', 'internal_error']);
  const unproven = await runProblems(service.url, workload.promises, await witness.runs());
  const code = await service.stop();
  const left = leftoversOf(dataDir).map((name) => `left behind: ${name}`);
  return [...problems, ...unproven, ...left, ...(code === 0 ? [] : [`it stopped with exit code ${code}`])];
}

async function submitOne(url: string, workload: Workload): Promise<void> {
  await ignoringFailure(() => workload.run(url, { clients: 1, jobsEach: 1 }));
}

/** Checks a service whose store fails: it must answer reads, and refuse writes with an error from the contract. */
async function stillAnswers(url: string): Promise<string[]> {
  const client = crashClient(url);
  const problems: string[] = [];
  await ignoringFailure(async () => {
    for await (const { job_id } of client.listAll()) await client.result(job_id, { waitSeconds: 2 });
  });
  const health = await fetch(`${url}/healthz`);
  if (health.status !== 200) problems.push(`/healthz answered ${health.status}`);
  return problems;
}

async function ignoringFailure(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ServiceFailure || error instanceof TransportFailure)) throw error;
  }
}

function endProblems(point: FaultPoint, signal: NodeJS.Signals | null): string[] {
  return !isKill(point) || signal === 'SIGKILL' ? [] : [`it was to be killed, and ended with ${signal}`];
}

/** A service that does not start must say why in one line, besides the JSON lines of its log. */
function refusalProblems(said: string): string[] {
  const lines = said.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
  return lines.length === 1 && ONE_LINE.test(lines[0] ?? '')
    ? []
    : [`it did not say in one line why it ended: ${said}`];
}

function armedWith({ step, fault }: FaultPoint, reached: string): Record<string, string> {
  return {
    NODE_OPTIONS: `--import ${PRELOAD}`,
    ...(isParked({ step, fault }) ? {} : { SERVICE_PARKED_MB_MAX: '0' }),
    [FAULT_VARIABLES.step]: step,
    [FAULT_VARIABLES.fault]: fault,
    [FAULT_VARIABLES.reached]: reached,
  };
}
