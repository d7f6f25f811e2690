/** What very many stored jobs cost: requests and starts are compared with those of the same service with few jobs. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Client, type Served, serveService } from '../http/processes.ts';
import { type Measurement, median } from '../measurement.ts';
import { FLAGS, hello, KEY, scratchDirectory } from './bench-service.ts';
import { fillStore } from './filled-store.ts';
import { openJobClient } from './job-client.ts';

const fewJobs = 5000;
const rounds = 7;
const roundMilliseconds = 700;
const connections = 4;
const startRounds = 3;

/** A filled store, and some of its jobs. */
interface Filled {
  readonly directory: string;
  readonly jobs: number;
  readonly names: readonly string[];
}

/** Requests and starts with this many jobs. */
export async function* manyStored(jobs: number): AsyncGenerator<Measurement> {
  using scratch = scratchDirectory();
  const few = await filled(join(scratch.path, 'few'), fewJobs);
  const many = await filled(join(scratch.path, 'many'), jobs);
  yield await starts(few, many);
  await using fewServed = await serve(few);
  await using manyServed = await serve(many);
  using client = new Client();
  for (const { what, requestsOf } of REQUESTS) {
    const sides = {
      few: { served: fewServed, requests: requestsOf(few) },
      many: { served: manyServed, requests: requestsOf(many) },
    };
    yield measurementOf(`${what}, ${jobs} stored jobs`, await inTurns(client, sides));
  }
}

async function filled(directory: string, jobs: number): Promise<Filled> {
  mkdirSync(directory);
  return { directory, jobs, names: await fillStore(directory, jobs, fewJobs) };
}

const body = JSON.stringify(hello('python'));
const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: svc.example\r\nauthorization: Bearer ${KEY}\r\n\r\n`;
const submission = `POST /v1/jobs HTTP/1.1\r\nhost: svc.example\r\nauthorization: Bearer ${KEY}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** Submissions come last, because the jobs that they queue would be at the beginning of the list. */
const REQUESTS: readonly { readonly what: string; readonly requestsOf: (filled: Filled) => readonly string[] }[] = [
  { what: 'detail', requestsOf: ({ names }) => names.map((name) => get(`/v1/jobs/${name}`)) },
  { what: 'list of 50', requestsOf: () => [get('/v1/jobs')] },
  {
    what: 'list of 50 by status and language',
    requestsOf: () => [get('/v1/jobs?status=failed,succeeded&language=bash')],
  },
  { what: 'submission', requestsOf: () => [submission] },
];

/** Serves with one slot, which a long job occupies, so that submitted jobs stay queued. */
async function serve({ directory }: Filled): Promise<Served> {
  const flags = { ...FLAGS, provider: 'namespace', concurrency: '1', 'parked-mb-max': '0' };
  const served = await serveService(flags, directory);
  using client = openJobClient({ port: served.port, key: KEY });
  await client.call('POST', '/v1/jobs', { language: 'bash', code: 'sleep 299', limits: { wall_seconds: 300 } });
  return served;
}

interface Side {
  readonly served: Served;
  readonly requests: readonly string[];
}

interface Figures {
  /** Microseconds for each request. */
  readonly few: readonly number[];
  readonly many: readonly number[];
}

async function inTurns(client: Client, { few, many }: { few: Side; many: Side }): Promise<Figures> {
  const figures = { few: [] as number[], many: [] as number[] };
  for (let round = 0; round <= rounds; round++) {
    const pair = { few: await microsecondsEach(client, few), many: await microsecondsEach(client, many) };
    // The first round warms up.
    if (round === 0) continue;
    figures.few.push(pair.few);
    figures.many.push(pair.many);
  }
  return figures;
}

async function microsecondsEach(client: Client, { served, requests }: Side): Promise<number> {
  const order = { kind: 'drive', port: served.port, requests, connections, milliseconds: roundMilliseconds } as const;
  const { answers, refused, firstRefusal, milliseconds } = await client.order(order);
  if (refused > 0) throw new Error(`${refused} of ${answers} requests were refused: ${firstRefusal}`);
  return (milliseconds * 1000) / answers;
}

function measurementOf(what: string, { few, many }: Figures, unit: 'µs' | 'ms' = 'µs'): Measurement {
  return {
    what,
    value: median(many),
    unit,
    baseline: { what: `with ${fewJobs} stored jobs`, value: median(few) },
    spread: [Math.min(...many), Math.max(...many)],
    target: { ratio: 1.3, is: 'at most' },
  };
}

async function starts(few: Filled, many: Filled): Promise<Measurement> {
  const figures = { few: [] as number[], many: [] as number[] };
  for (let round = 0; round <= startRounds; round++) {
    const pair = { few: await startOf(few), many: await startOf(many) };
    if (round === 0) continue;
    figures.few.push(pair.few);
    figures.many.push(pair.many);
  }
  return measurementOf(`start to listening, ${many.jobs} stored jobs`, figures, 'ms');
}

async function startOf({ directory }: Filled): Promise<number> {
  const started = performance.now();
  await using _served = await serveService({ ...FLAGS, provider: 'namespace' }, directory);
  return performance.now() - started;
}
