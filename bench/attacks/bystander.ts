/**
 * Another client while a service is attacked. It asks for the service's health, submits jobs, each on a new connection
 * from the attacker's address, runs into a wall limit again and again, and reads the memory of the service.
 */
import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { createServiceClient } from '@vouchbox/client';
import { mainThreadSeconds, residentMib, type Served } from '../http/processes.ts';
import { percentile } from '../measurement.ts';

/** Times in milliseconds, memory in MiB. */
export interface Experience {
  /** Of `/healthz`, from the first try to the answer. */
  readonly healthP99: number;
  /** Of `POST /v1/jobs`, in the same way. */
  readonly submissionP99: number;
  /** Tries of both that were refused or cut off, and tried again. */
  readonly retries: number;
  /** How much longer than its wall limit a job ran, at most. */
  readonly wallLateness: number;
  /** Resident, at most. */
  readonly memory: number;
  /** The percentage of the main thread's working time in which others had the cores. */
  readonly coreWait: number;
}

const healthPauseMilliseconds = 50;
const submissionPauseMilliseconds = 400;
const againMilliseconds = 5;
const lookMilliseconds = 100;
const wallSeconds = 1;

/** What the service is like for this key, for this many seconds. */
export async function experience(service: Served, key: string, seconds: number): Promise<Experience> {
  const endsAt = performance.now() + seconds * 1000;
  const before = mainThreadSeconds(service.pid);
  const isOn = () => performance.now() < endsAt;
  const [health, submissions, wallLateness, memory] = await Promise.all([
    asked(service, { path: '/healthz' }, { isOn, pauseMilliseconds: healthPauseMilliseconds }),
    asked(service, { path: '/v1/jobs', key, body: JOB }, { isOn, pauseMilliseconds: submissionPauseMilliseconds }),
    latestWallLimit(service, key, isOn),
    mostMemory(service, isOn),
  ]);
  return {
    healthP99: percentile(health.delays, 0.99),
    submissionP99: percentile(submissions.delays, 0.99),
    retries: health.retries + submissions.retries,
    wallLateness,
    memory,
    coreWait: coreWaitSince(before, service),
  };
}

function coreWaitSince(before: { ran: number; waited: number }, { pid }: Served): number {
  const now = mainThreadSeconds(pid);
  const waited = now.waited - before.waited;
  return (100 * waited) / (waited + now.ran - before.ran);
}

const JOB = JSON.stringify({ language: 'bash', code: 'true' });

interface Asked {
  readonly path: string;
  readonly key?: string;
  readonly body?: string;
}

async function asked(
  { port }: Served,
  what: Asked,
  { isOn, pauseMilliseconds }: { isOn: () => boolean; pauseMilliseconds: number },
): Promise<{ delays: number[]; retries: number }> {
  const delays: number[] = [];
  let retries = 0;
  while (isOn()) {
    const startedAt = performance.now();
    for (; !(await isAnswered(port, what)); retries++) await pause(againMilliseconds);
    delays.push(performance.now() - startedAt);
    await pause(pauseMilliseconds);
  }
  return { delays, retries };
}

/** False if the connection was refused or cut off, or the answer asks to come again later. */
function isAnswered(port: number, { path, key, body }: Asked): Promise<boolean> {
  const headers = {
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
  };
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    request({ port, host: '127.0.0.1', path, method, headers, agent: false }, (response) => {
      const { statusCode = 0 } = response;
      if (statusCode >= 400 && statusCode !== 429 && statusCode !== 503) {
        reject(new Error(`${path} answered ${statusCode}`));
      }
      response.resume().on('close', () => resolve(response.complete && statusCode < 300));
    })
      .on('error', () => resolve(false))
      .end(body);
  });
}

async function latestWallLimit({ port }: Served, apiKey: string, isOn: () => boolean): Promise<number> {
  const api = createServiceClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey });
  let latest = 0;
  while (isOn()) {
    const limits = { wall_seconds: wallSeconds };
    const { job_id } = await api.submit({ language: 'bash', code: 'sleep 60', limits });
    const { status, duration_ms } = await api.waitForResult(job_id);
    if (status !== 'timed_out' || duration_ms === null) throw new Error(`a job that sleeps ended as ${status}`);
    latest = Math.max(latest, duration_ms - wallSeconds * 1000);
  }
  return latest;
}

async function mostMemory({ pid }: Served, isOn: () => boolean): Promise<number> {
  let most = 0;
  while (isOn()) {
    most = Math.max(most, residentMib(pid));
    await pause(lookMilliseconds);
  }
  return most;
}
