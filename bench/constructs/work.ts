/** Work that a service can repeat. Measures the service's processor time for one piece of the work. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createServiceClient, type ServiceClient } from '@vouchbox/client';
import { Client, cpuSeconds, type Served, serveService, threadSeconds } from '../http/processes.ts';

/** Work at a running service. A round resolves with the processor time for one piece, in microseconds, on all threads. */
export interface Work extends AsyncDisposable {
  /** How many rounds are measured. Work with long rounds has few. */
  readonly rounds: number;
  round(): Promise<number>;
}

const FLAGS = {
  provider: 'namespace',
  'legacy-keys': 'alpha=key-of-alpha',
  'rate-per-second': '1000000',
  'rate-burst': '1000000',
  'free-space-reserve-mb': '0',
};
const HELLO = 'echo hello';
/** A mebibyte of output in lines of 64 characters. */
const LONG = 'head -c 1024000 /dev/zero | tr "\\0" o | fold -w 63';

/** The kinds of measured work. Each is given the tree with the service's sources. */
export const WORKS = {
  'list of 50': (tree) => requests(tree, { code: HELLO, count: 50, paths: () => ['/v1/jobs'] }),
  'long result': (tree) =>
    requests(tree, { code: LONG, count: 1, paths: (ids) => ids.map((id) => `/v1/jobs/${id}/result`) }),
  'short jobs': (tree) => jobs(tree, { code: HELLO, count: 40 }),
  'long jobs': (tree) => jobs(tree, { code: LONG, count: 6 }),
  start: (tree) => starts(tree),
} as const satisfies Readonly<Record<string, (tree: string) => Promise<Work>>>;
export type WorkName = keyof typeof WORKS;

const roundMilliseconds = 150;
const connections = 8;
const jobsAtOnce = 4;

interface Asked {
  readonly code: string;
  readonly count: number;
  /** The paths to request once these jobs have ended. */
  readonly paths: (ids: readonly string[]) => readonly string[];
}

async function requests(tree: string, { code, count, paths }: Asked): Promise<Work> {
  await using stack = new AsyncDisposableStack();
  const service = stack.use(await openService(tree));
  const client = stack.use(new Client());
  const ids = await run(service.api, code, count);
  await signed(service.api);
  const asked = paths(ids).map(
    (path) => `GET ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer key-of-alpha\r\n\r\n`,
  );
  const { port, pid } = service.served;
  const round = async () => {
    const before = threadSeconds(pid);
    const order = { kind: 'drive', port, requests: asked, connections, milliseconds: roundMilliseconds } as const;
    const { answers, refused } = await client.order(order);
    if (refused > 0) throw new Error(`${refused} requests were refused`);
    return ((threadSeconds(pid) - before) / answers) * 1e6;
  };
  const held = stack.move();
  return { rounds: 60, round, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

async function jobs(tree: string, { code, count }: { code: string; count: number }): Promise<Work> {
  const service = await openService(tree);
  const round = async () => {
    const before = cpuSeconds(service.served.pid);
    await run(service.api, code, count);
    await signed(service.api);
    return ((cpuSeconds(service.served.pid) - before) / count) * 1e6;
  };
  return { rounds: 8, round, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
}

async function starts(tree: string): Promise<Work> {
  const round = async () => {
    await using service = await openService(tree);
    return cpuSeconds(service.served.pid) * 1e6;
  };
  return { rounds: 6, round, async [Symbol.asyncDispose]() {} };
}

interface OpenedService extends AsyncDisposable {
  readonly served: Served;
  readonly api: ServiceClient;
}

async function openService(tree: string): Promise<OpenedService> {
  const path = mkdtempSync(join(tmpdir(), 'svc-constructs-'));
  const served = await serveService(FLAGS, path, tree);
  const api = createServiceClient({ baseUrl: `http://127.0.0.1:${served.port}`, apiKey: 'key-of-alpha' });
  return {
    served,
    api,
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      rmSync(path, { recursive: true });
    },
  };
}

/** Runs this many jobs to their end, several at the same time, and returns their ids. */
async function run(api: ServiceClient, code: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  const runner = async () => {
    while (ids.length < count) {
      const at = ids.push('') - 1;
      const { job_id } = await api.submit({ language: 'bash', code });
      ids[at] = job_id;
      const { status } = await api.waitForResult(job_id);
      if (status !== 'succeeded') throw new Error(`a job of the bench ended as ${status}`);
    }
  };
  await Promise.all(Array.from({ length: jobsAtOnce }, runner));
  return ids;
}

/** Resolves once no result waits for its signature. Signatures are part of the work. */
async function signed(api: ServiceClient): Promise<void> {
  while ((await api.status()).signer.outbox_depth > 0) await pause(10);
}
