/** How long one job takes, and how many complete in a second, beside the same programs without the service. */
import type { JobSubmission } from '@vouchbox/protocol';
import type { Served } from '../http/processes.ts';
import { type Measurement, median, percentile } from '../measurement.ts';
import type { BareAnswer, BareOrder, BarePrograms } from './bare-programs.ts';
import { driven, type Figures, KEY, timedRun } from './bench-service.ts';
import { type JobClient, openJobClient } from './job-client.ts';

interface Latency {
  readonly what: string;
  readonly submission: JobSubmission;
  readonly run: BareOrder['run'];
  /** The most that the median and the 99th percentile may be of the baseline's; null if there is no such target. */
  readonly targets: readonly [number, number | null];
  readonly rounds?: number;
  readonly jobs?: number;
}

/** The median and the 99th percentile of runs one after the other. */
export function latency(asked: Latency): Figures {
  return { what: asked.what, measure: (service, bare) => latencies(service, bare, asked) };
}

/** One client after the other, in rounds; the first warms up. */
async function latencies(
  { port }: Served,
  bare: BarePrograms,
  { what, submission, run, targets, rounds = 12, jobs = 20 }: Latency,
): Promise<Measurement[]> {
  using client = openJobClient({ port, key: KEY });
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = 0; round <= rounds; round++) {
    const { durations } = await bare.order({ run, times: jobs, workers: 1 });
    const mine: number[] = [];
    for (let job = 0; job < jobs; job++) mine.push(await timedRun(client, submission));
    if (round === 0) continue;
    ours.push(...mine);
    theirs.push(...durations);
  }
  const name = 'bare' in run ? `bare ${run.bare}` : `cold ${run.cold}`;
  const at = (part: number, target: number | null): Measurement => ({
    what: `${what}, ${part === 0.5 ? 'p50' : 'p99'}, 1 client`,
    value: percentile(ours, part),
    unit: 'ms',
    baseline: { what: name, value: percentile(theirs, part) },
    spread: [percentile(ours, 0.1), percentile(ours, 0.9)],
    ...(target !== null && { target: { ratio: target, is: 'at most' as const } }),
  });
  return [at(0.5, targets[0]), at(0.99, targets[1])];
}

interface Throughput {
  readonly what: string;
  readonly clients: number;
  readonly submission: JobSubmission;
  readonly run: BareOrder['run'];
  readonly workers: number;
  readonly target: number;
  readonly jobs?: number;
}

/** Runs a second by several clients. */
export function throughput(asked: Throughput): Figures {
  return { what: asked.what, measure: async (service, bare) => [await runsPerSecond(service, bare, asked)] };
}

async function runsPerSecond({ port }: Served, bare: BarePrograms, asked: Throughput): Promise<Measurement> {
  const { what, submission, run, workers, target, jobs = 240, clients: count } = asked;
  const clients = Array.from({ length: count }, () => openJobClient({ port, key: KEY }));
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = 0; round <= 5; round++) {
    const answer = await bare.order({ run, times: jobs, workers });
    const mine = await driven(clients, submission, jobs);
    if (round === 0) continue;
    theirs.push(perSecond(jobs, answer));
    ours.push(jobs / (mine / 1000));
  }
  for (const client of clients) client[Symbol.dispose]();
  const name = 'bare' in run ? `bare ${run.bare}, ${workers} workers` : `cold ${run.cold}, ${workers} workers`;
  return {
    what,
    value: median(ours),
    unit: '/s',
    baseline: { what: name, value: median(theirs) },
    spread: [Math.min(...ours), Math.max(...ours)],
    target: { ratio: target, is: 'at least' },
  };
}

function perSecond(times: number, { milliseconds }: BareAnswer): number {
  return times / (milliseconds / 1000);
}

/** How long this many jobs take that are submitted as fast as they are accepted, until the last result. */
export function burst(asked: {
  readonly what: string;
  readonly jobs: number;
  readonly submission: JobSubmission;
}): Figures {
  return { what: asked.what, measure: async (service, bare) => [await millisecondsToTheLast(service, bare, asked)] };
}

/** The most connections that one unknown address may have. */
const burstClients = 48;

async function millisecondsToTheLast(
  { port }: Served,
  bare: BarePrograms,
  { what, jobs, submission }: { what: string; jobs: number; submission: JobSubmission },
): Promise<Measurement> {
  const clients = Array.from({ length: burstClients }, () => openJobClient({ port, key: KEY }));
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = 0; round <= 3; round++) {
    const answer = await bare.order({ run: { bare: 'python' }, times: jobs, workers: 8 });
    const started = performance.now();
    const clientOf = (index: number) => clients[index % clients.length] as JobClient;
    const urls = await Promise.all(Array.from({ length: jobs }, (_, index) => clientOf(index).submit(submission)));
    const results = await Promise.all(urls.map((url, index) => clientOf(index).result(url)));
    const milliseconds = performance.now() - started;
    const failed = results.filter(({ status }) => status !== 'succeeded').length;
    if (failed > 0) throw new Error(`${failed} of ${jobs} jobs did not succeed`);
    if (round === 0) continue;
    theirs.push(answer.milliseconds);
    ours.push(milliseconds);
  }
  for (const client of clients) client[Symbol.dispose]();
  return {
    what,
    value: median(ours),
    unit: 'ms',
    baseline: { what: 'bare python, 8 workers', value: median(theirs) },
    spread: [Math.min(...ours), Math.max(...ours)],
  };
}
