/**
 * Compares the HTTP side with Fastify alone, with the same client in the same run. Also measures what slow readers of the largest
 * results cost in memory and other clients' time, and how long a tenant's first job waits behind a thousand of another.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createServiceClient, type ServiceClient } from '@vouchbox/client';
import { connectionsMax } from '@vouchbox/protocol';
import { Client, cpuSeconds, residentMib, type Served, serveBare, serveService } from './http/processes.ts';
import { type Measurement, median } from './measurement.ts';

const tenants = ['alpha', 'beta', 'gamma', 'delta'] as const;

/** Raised budgets, because the measurements would exhaust the usual ones. All other settings have their defaults. */
const RAISED = {
  'legacy-keys': tenants.map((tenant) => `${tenant}=key-of-${tenant}`).join(','),
  'rate-per-second': '1000000',
  'rate-burst': '1000000',
  'queue-max': '1000000',
  'tenant-queue-max': '1000000',
  'free-space-reserve-mb': '0',
  'drain-seconds': '0',
};

const connections = 8;
const rounds = 7;
const roundMilliseconds = 1000;
const endedJobs = 60;

/** Measures each figure whose name contains `only`: requests per second, memory under slow readers, fairness between tenants. */
export async function* measure({ only = '' }: { readonly only?: string | undefined }): AsyncGenerator<Measurement> {
  const isWanted = (what: string) => what.includes(only);
  if (['detail', 'list of 50', 'submission'].some(isWanted)) yield* await throughput(isWanted);
  if (isWanted('slow readers')) yield* await slowReaders();
  if (isWanted('fairness')) yield await fairness();
}

async function throughput(isWanted: (what: string) => boolean): Promise<Measurement[]> {
  using scratch = scratchDirectory();
  using client = new Client();
  await using bare = await serveBare();
  // There is one slot. Once the jobs to be read have ended, a long job takes the slot, so that later jobs stay queued.
  await using service = await serveService({ ...RAISED, concurrency: '1' }, scratch.path);
  const api = clientOf(service, 'alpha');
  const ids = await hellos(api, endedJobs);
  await api.submit({ language: 'bash', code: 'sleep 299', limits: { wall_seconds: 300 } });
  const body = JSON.stringify({ language: 'python', code: 'print("hello")' });
  const asked: readonly [string, readonly string[]][] = [
    ['detail', ids.map((id) => get(`/v1/jobs/${id}`))],
    ['list of 50', [get('/v1/jobs')]],
    ['submission', [post('/v1/jobs', body)]],
  ];
  const measurements: Measurement[] = [];
  for (const [what, requests] of asked.filter(([what]) => isWanted(what))) {
    const size = await sizeOf(service, requests[0] ?? '');
    const path = `/bare?size=${size}`;
    const bareRequests = [what === 'submission' ? post(path, body) : get(path)];
    const target = TARGETS[what];
    measurements.push(
      ...(await besideBare({ what: `${what}, ${size} bytes`, ...(target !== undefined && { target }) }, client, {
        service: { server: service, requests },
        bare: { server: bare, requests: bareRequests },
      })),
    );
  }
  return measurements;
}

/** The target for requests per second, as a fraction of what bare Fastify reaches with the same bytes. */
const TARGETS: Readonly<Record<string, Measurement['target']>> = { 'list of 50': { ratio: 0.4, is: 'at least' } };

interface Driven {
  readonly server: Served;
  readonly requests: readonly string[];
}

/** Compares the service with the bare server. Rounds take turns, so that other work on the host affects both. Medians count. */
async function besideBare(
  asked: Pick<Measurement, 'what' | 'target'>,
  client: Client,
  { service, bare }: { service: Driven; bare: Driven },
): Promise<Measurement[]> {
  const figures = { service: [] as Figure[], bare: [] as Figure[] };
  for (let round = 0; round <= rounds; round++) {
    const pair = { bare: await roundOf(client, bare), service: await roundOf(client, service) };
    // The first round warms up.
    if (round === 0) continue;
    figures.bare.push(pair.bare);
    figures.service.push(pair.service);
  }
  const middle = (name: keyof Figure) => ({
    value: median(figures.service.map((figure) => figure[name])),
    baseline: { what: 'bare Fastify', value: median(figures.bare.map((figure) => figure[name])) },
  });
  return [
    { ...asked, unit: '/s', ...middle('perSecond') },
    { what: '  CPU time of the server for each', unit: 'µs', ...middle('cpuMicroseconds') },
  ];
}

interface Figure {
  readonly perSecond: number;
  readonly cpuMicroseconds: number;
}

async function roundOf(client: Client, { server, requests }: Driven): Promise<Figure> {
  const { port, pid } = server;
  const before = cpuSeconds(pid);
  const driven = await client.order({ kind: 'drive', port, requests, connections, milliseconds: roundMilliseconds });
  if (driven.refused > 0) throw new Error(`${driven.refused} of ${driven.answers} requests were refused`);
  return {
    perSecond: driven.answers / (driven.milliseconds / 1000),
    cpuMicroseconds: ((cpuSeconds(pid) - before) / driven.answers) * 1e6,
  };
}

const slowSeconds = 10;
const MIB = 2 ** 20;

/** Prints a MiB to each stream, and writes outputs with as many bytes as are allowed. */
const LARGEST = `
head -c 1000000 /dev/zero | tr '\\0' 'o' | fold -w 1000
head -c 1000000 /dev/zero | tr '\\0' 'e' | fold -w 1000 >&2
head -c ${2 * MIB} /dev/urandom > output/one
head -c ${2 * MIB} /dev/urandom > output/two
`;

async function slowReaders(): Promise<Measurement[]> {
  using scratch = scratchDirectory();
  using client = new Client();
  await using service = await serveService(RAISED, scratch.path);
  const requests: string[] = [];
  for (const tenant of tenants) {
    const api = clientOf(service, tenant);
    const { job_id } = await api.submit({ language: 'bash', code: LARGEST, outputs: ['output/one', 'output/two'] });
    const { artifacts } = await api.waitForResult(job_id);
    if (artifacts.length !== 2) throw new Error('the largest result is not complete');
    requests.push(get(`/v1/jobs/${job_id}/result`, tenant), get(`/v1/jobs/${job_id}/replay?limit=1000`, tenant));
  }
  // First use makes a fresh heap grow. After these warm-up answers, the heap grows only if memory is held.
  for (let reading = 0; reading < 10; reading++) await Promise.all(requests.map((text) => sizeOf(service, text)));
  const alone = await probed(service, slowSeconds);
  // Two connections are left for the health check: the present one, and the previous one, which may still be closing.
  const readers = connectionsMax - 2;
  await client.order({ kind: 'hold', port: service.port, requests, connections: readers });
  const during = await probed(service, slowSeconds);
  const { transfers, refusals } = await client.order({ kind: 'let go' });
  const afterwards = await probed(service, slowSeconds);
  const mib = { unit: 'MiB', baseline: { what: 'before', value: alone.mib } } as const;
  const milliseconds = { unit: 'ms', baseline: { what: 'before', value: alone.p99 } } as const;
  return [
    { what: `memory under ${readers} slow readers, at most`, value: during.mib, ...mib },
    { what: `  ${transfers} transfers held, ${refusals} refusals`, value: during.endMib, ...mib },
    { what: '  after they have left', value: afterwards.endMib, ...mib },
    { what: '  /healthz meanwhile, 99th percentile', value: during.p99, ...milliseconds },
    { what: '  /healthz meanwhile, at most', value: during.slowest, ...milliseconds },
  ];
}

interface Probed {
  /** The highest and the last resident memory, in MiB. */
  readonly mib: number;
  readonly endMib: number;
  /** The 99th percentile for `/healthz`, in milliseconds. */
  readonly p99: number;
  readonly slowest: number;
}

/** Asks for a service's health again and again, and reads the service's memory. */
async function probed({ port, pid }: Served, seconds: number): Promise<Probed> {
  const delays: number[] = [];
  let mib = 0;
  const agent = new Agent({ keepAlive: true });
  const endsAt = performance.now() + seconds * 1000;
  while (performance.now() < endsAt) {
    delays.push(await healthMilliseconds(port, agent));
    mib = Math.max(mib, residentMib(pid));
    await pause(5);
  }
  agent.destroy();
  const sorted = delays.toSorted((a, b) => a - b);
  return {
    mib,
    endMib: residentMib(pid),
    p99: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN,
    slowest: sorted.at(-1) ?? Number.NaN,
  };
}

/** The time from the first try to the answer. After a refused connection, the function tries again, and that time counts too. */
async function healthMilliseconds(port: number, agent: Agent): Promise<number> {
  const startedAt = performance.now();
  while (!(await isHealthy(port, agent))) await pause(1);
  return performance.now() - startedAt;
}

/** False if the connection was refused or reset. */
function isHealthy(port: number, agent: Agent): Promise<boolean> {
  return new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', path: '/healthz', agent }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`/healthz answered ${response.statusCode}`));
      response.resume().on('end', () => resolve(true));
    })
      .on('error', () => resolve(false))
      .end();
  });
}

const queuedJobs = 1000;

/** How long a tenant's first job takes on an empty service, and behind a thousand jobs of another tenant. */
async function fairness(): Promise<Measurement> {
  using scratch = scratchDirectory();
  await using service = await serveService(RAISED, scratch.path);
  const [first, ...others] = tenants;
  const delays = async () => {
    const found: number[] = [];
    for (const tenant of others) {
      const startedAt = performance.now();
      await hellos(clientOf(service, tenant), 1);
      found.push(performance.now() - startedAt);
    }
    return median(found);
  };
  await delays();
  const value = await delays();
  const api = clientOf(service, first);
  await Promise.all(Array.from({ length: queuedJobs }, () => api.submit({ language: 'bash', code: 'echo hello' })));
  const behind = await delays();
  return {
    what: `another tenant's job behind ${queuedJobs} queued`,
    value: behind,
    unit: 'ms',
    baseline: { what: 'on an empty service', value },
  };
}

/** Runs programs to their end, one after the other, and returns the ids of their jobs. */
async function hellos(api: ServiceClient, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < count; at++) {
    const { job_id } = await api.submit({ language: 'bash', code: 'echo hello' });
    const { stdout } = await api.waitForResult(job_id);
    if (stdout !== 'hello\n') throw new Error(`a program gave ${JSON.stringify(stdout)} in place of hello`);
    ids.push(job_id);
  }
  return ids;
}

function clientOf({ port }: Served, tenant: string): ServiceClient {
  return createServiceClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: `key-of-${tenant}` });
}

function head(method: string, path: string, tenant: string): string {
  return `${method} ${path} HTTP/1.1\r\nhost: svc.example\r\nauthorization: Bearer key-of-${tenant}\r\n`;
}

function get(path: string, tenant = 'alpha'): string {
  return `${head('GET', path, tenant)}\r\n`;
}

function post(path: string, body: string): string {
  return `${head('POST', path, 'alpha')}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** The number of bytes in an answer's body. */
async function sizeOf({ port }: Served, text: string): Promise<number> {
  const [, method = '', path = ''] = /^(\S+) (\S+)/.exec(text) ?? [];
  const [, authorization = ''] = /\r\nauthorization: (.*)\r\n/.exec(text) ?? [];
  const body = text.slice(text.indexOf('\r\n\r\n') + 4);
  const headers = { authorization, 'content-type': 'application/json' };
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, ...(body !== '' && { body }) });
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}`);
  return (await answer.arrayBuffer()).byteLength;
}

function scratchDirectory(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}
