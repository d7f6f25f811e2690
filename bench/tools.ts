/**
 * What a tool call costs, from the program to the caller's function and back: a thousand calls at once, and a thousand calls one
 * after another. The latter are compared with two disk syncs and one HTTP round trip for each call. Both are measured in each
 * class, and on PostgreSQL with the caller and the cell at different nodes.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createServiceClient, type ServiceClient } from '@vouchbox/client';
import { startPostgres } from '../test/rig/postgres-server.ts';
import { serveService, threadSeconds } from './http/processes.ts';
import { type Measurement, median } from './measurement.ts';
import { FLAGS, KEY, type ServedCells, scratchDirectory } from './speed/bench-service.ts';

const calls = 1000;
const rounds = 3;

/** Programs that make their calls one after another, and all at once. */
const PROGRAMS = {
  python: {
    inTurn: `for at in range(${calls}): tools.echo(at=at)`,
    atOnce: `
import asyncio
async def main():
    await asyncio.gather(*(tools.echo(at=at) for at in range(${calls})))
asyncio.run(main())`,
  },
  node: {
    inTurn: `for (let at = 0; at < ${calls}; at++) await tools.echo({ at });`,
    atOnce: `await Promise.all(Array.from({ length: ${calls} }, (_, at) => tools.echo({ at })));`,
  },
} as const;
const LANGUAGES = ['python', 'node'] as const;
const CLASSES = ['namespace', 'gvisor'] as const;

export async function* measure(): AsyncGenerator<Measurement> {
  for (const provider of CLASSES) {
    using scratch = scratchDirectory();
    await using service = await serveService({ ...FLAGS, provider }, scratch.path);
    yield* measuredAt(provider, service, [service]);
  }
  await using database = await startPostgres();
  using here = scratchDirectory();
  using there = scratchDirectory();
  const flags = { ...FLAGS, 'database-url': database.url };
  await using cells = await serveService({ ...flags, provider: 'namespace', roles: 'executor,signer' }, there.path);
  await using caller = await serveService({ ...flags, roles: 'api' }, here.path);
  yield* measuredAt('PostgreSQL, asked at another node', caller, [caller, cells]);
}

/** Measures the calls of programs that are submitted to a service or to one of its nodes. */
async function* measuredAt(
  where: string,
  asked: ServedCells,
  nodes: readonly ServedCells[],
): AsyncGenerator<Measurement> {
  const client = createServiceClient({ baseUrl: `http://127.0.0.1:${asked.port}`, apiKey: KEY });
  const nodesSeconds = () => nodes.reduce((sum, { pid }) => sum + threadSeconds(pid), 0);
  for (const language of LANGUAGES) {
    const { inTurn, atOnce } = PROGRAMS[language];
    await timed(client, language, inTurn);
    const [one, all, floor]: [number[], number[], number[]] = [[], [], []];
    const [ofService, ofClient]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      floor.push(await floorMilliseconds(asked));
      const before = { service: nodesSeconds(), client: threadSeconds(process.pid) };
      one.push((await timed(client, language, inTurn)).calls);
      ofService.push(((nodesSeconds() - before.service) * 1000) / calls);
      ofClient.push(((threadSeconds(process.pid) - before.client) * 1000) / calls);
      all.push((await timed(client, language, atOnce)).run);
    }
    yield {
      what: `${where}, ${language}: ${calls} calls in turn, from the first to the last`,
      value: median(one),
      unit: 'ms',
      baseline: { what: '2 syncs, 1 round trip each', value: median(floor) },
      spread: [Math.min(...one), Math.max(...one)],
      target: { ratio: 1.5, is: 'at most' },
    };
    yield {
      what: `${where}, ${language}: processor time of the service for each`,
      value: median(ofService),
      unit: 'ms',
      baseline: { what: 'of the client', value: median(ofClient) },
      spread: [Math.min(...ofService), Math.max(...ofService)],
    };
    yield {
      what: `${where}, ${language}: ${calls} calls at once`,
      value: median(all),
      unit: 'ms',
      baseline: { what: 'in turn', value: median(one) },
      spread: [Math.min(...all), Math.max(...all)],
      valueMax: 2000,
    };
  }
}

/** Times of a run in milliseconds. All calls of the run are answered. */
interface Timed {
  /** The time from the run's submission to its result. */
  readonly run: number;
  /** The time from the first call to the last, without the start and the end of the job. */
  readonly calls: number;
}

async function timed(client: ServiceClient, language: 'python' | 'node', code: string): Promise<Timed> {
  const arrived: number[] = [];
  const echo = ({ at }: { readonly at: number }) => {
    arrived.push(performance.now());
    return at;
  };
  const started = performance.now();
  const limits = { wall_seconds: 300, cpu_seconds: 60 };
  const ran = await client.run({ language, code, limits }, { tools: { echo }, toolLimits: { calls } });
  const run = performance.now() - started;
  if (ran.status !== 'succeeded' || arrived.length !== calls)
    throw new Error(`${arrived.length} of ${calls} calls were answered: ${ran.status} ${ran.stderr}`);
  const between = (arrived.at(-1) ?? 0) - (arrived[0] ?? 0);
  return { run, calls: (between * calls) / (calls - 1) };
}

/** The least number of milliseconds that the calls need: for each call, two synced appends to a file and one request. */
async function floorMilliseconds({ dataDirectory, port }: ServedCells): Promise<number> {
  const file = openSync(join(dataDirectory, 'synced'), 'w');
  const headers = { authorization: `Bearer ${KEY}` };
  try {
    const started = performance.now();
    for (let at = 0; at < calls; at++) {
      synced(file);
      await (await fetch(`http://127.0.0.1:${port}/v1/whoami`, { headers })).text();
      synced(file);
    }
    return performance.now() - started;
  } finally {
    closeSync(file);
  }
}

function synced(file: number): void {
  writeSync(file, Buffer.alloc(4096));
  fdatasyncSync(file);
}
