/**
 * Another client of the service while it is attacked. It asks for the service's health, submits jobs, reads a result, waits and
 * opens streams, each on a new connection from the attacker's address. It also submits jobs that run into their wall limit, again
 * and again, and reads the service's memory.
 */
import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { createServiceClient } from '@vouchbox/client';
import { mainThreadSeconds, residentMib, type Served } from '../http/processes.ts';
import { percentile } from '../measurement.ts';

/** Times in milliseconds, memory in MiB. */
export interface Experience {
  /** The 99th percentile for `/healthz`, from the first try to the answer. */
  readonly healthP99: number;
  /** The 99th percentile for `POST /v1/jobs`, measured in the same way. */
  readonly submissionP99: number;
  /** How many tries were refused or cut off. This includes requests that need a permit, such as results, waits and streams. */
  readonly retries: number;
  /** The longest that a job ran beyond its wall limit. */
  readonly wallLateness: number;
  /** The highest resident memory of the service. */
  readonly memory: number;
  /** The percentage of the main thread's working time in which it waited because other processes had the cores. */
  readonly coreWait: number;
}

const healthPauseMilliseconds = 50;
const submissionPauseMilliseconds = 400;
const againMilliseconds = 5;
const lookMilliseconds = 100;
const wallSeconds = 1;

export interface Bystander {
  readonly service: Served;
  readonly key: string;
  /** The path of a job of the bystander's tenant that has ended. */
  readonly job: string;
}

/** Measures how the service answers a bystander for this many seconds. */
export async function experience({ service, key, job }: Bystander, seconds: number): Promise<Experience> {
  const endsAt = performance.now() + seconds * 1000;
  const before = mainThreadSeconds(service.pid);
  const isOn = () => performance.now() < endsAt;
  const inTurn = { isOn, pauseMilliseconds: submissionPauseMilliseconds };
  const [health, submissions, wallLateness, memory, ...places] = await Promise.all([
    asked(service, { path: '/healthz' }, { isOn, pauseMilliseconds: healthPauseMilliseconds }),
    asked(service, { path: '/v1/jobs', key, body: JOB }, inTurn),
    latestWallLimit(service, key, isOn),
    mostMemory(service, isOn),
    asked(service, { path: `${job}/result`, key }, inTurn),
    asked(service, { path: `${job}/result?wait_seconds=1`, key }, inTurn),
    asked(service, { path: `${job}/stream`, key, isStream: true }, inTurn),
  ]);
  return {
    healthP99: percentile(health.delays, 0.99),
    submissionP99: percentile(submissions.delays, 0.99),
    retries: [health, submissions, ...places].reduce((sum, { retries }) => sum + retries, 0),
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
  readonly isStream?: boolean;
}

const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

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

/** False if the connection was refused or cut off, or if the answer asks the client to try later. */
function isAnswered(port: number, { path, key, body, isStream = false }: Asked): Promise<boolean> {
  const headers = {
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...(isStream && UPGRADE),
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
      .on('upgrade', (_response, socket) => {
        socket.destroy();
        resolve(true);
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
