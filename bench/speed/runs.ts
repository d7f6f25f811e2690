/**
 * How long one job takes, and how many jobs complete per second, compared with the same programs without the service. Each figure
 * is measured in two ways. After a pause, the service may have made cells ahead of time. Without a pause, jobs run for so long
 * that those cells are used up.
 */
import type { JobSubmission } from '@vouchbox/protocol';
import type { Served } from '../http/processes.ts';
import { type Measurement, median, percentile } from '../measurement.ts';
import type { BareAnswer, BareOrder, BarePrograms } from './bare-programs.ts';
import { driven, type Figures, KEY, timedRun } from './bench-service.ts';
import { type JobClient, openJobClient } from './job-client.ts';

const AFTER_A_PAUSE = 'after a pause';
const WITHOUT_A_PAUSE = 'without a pause';
/** How long each round of a figure without a pause takes. */
const lastingMilliseconds = 8000;
const lastingRounds = 2;

interface Latency {
  readonly what: string;
  readonly submission: JobSubmission;
  readonly run: BareOrder['run'];
  /**
   * The targets: the largest allowed fractions of the baseline's median after a pause, of its 99th percentile after a pause, and
   * of its median without a pause. Null for no target.
   */
  readonly targets: readonly [number | null, number | null, number | null];
  readonly rounds?: number;
  readonly jobs?: number;
}

/** The median and the 99th percentile of runs that are made one after the other. */
export function latency(asked: Latency): Figures {
  return { what: asked.what, measure: (service, bare) => latencies(service, bare, asked) };
}

/** Measures rounds. The first round warms up. The service has a pause while its baseline runs. */
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
  const [lasting, lastingBare]: [number[], number[]] = [[], []];
  for (let round = 0; round < lastingRounds; round++) {
    await whileLasting(async () => lastingBare.push(...(await bare.order({ run, times: jobs, workers: 1 })).durations));
    await whileLasting(async () => lasting.push(await timedRun(client, submission)));
  }
  const rows = [
    { when: AFTER_A_PAUSE, part: 0.5, of: ours, beside: theirs },
    { when: AFTER_A_PAUSE, part: 0.99, of: ours, beside: theirs },
    { when: WITHOUT_A_PAUSE, part: 0.5, of: lasting, beside: lastingBare },
  ];
  const name = 'bare' in run ? `bare ${run.bare}` : `cold ${run.cold}`;
  return rows.map(({ when, part, of, beside }, at): Measurement => {
    const target = targets[at] ?? null;
    return {
      what: `${what}, ${part === 0.5 ? 'p50' : 'p99'}, 1 client, ${when}`,
      value: percentile(of, part),
      unit: 'ms',
      baseline: { what: name, value: percentile(beside, part) },
      spread: [percentile(of, 0.1), percentile(of, 0.9)],
      ...(target !== null && { target: { ratio: target, is: 'at most' as const } }),
    };
  });
}

async function whileLasting(work: () => Promise<unknown>): Promise<void> {
  const started = performance.now();
  while (performance.now() - started < lastingMilliseconds) await work();
}

interface Throughput {
  readonly what: string;
  readonly clients: number;
  readonly submission: JobSubmission;
  readonly run: BareOrder['run'];
  readonly workers: number;
  /** The smallest allowed fractions of the baseline's rate: after a pause, and without a pause. Null for no target. */
  readonly targets: readonly [number | null, number | null];
  readonly jobs?: number;
  /** A second baseline for the rate without a pause, with its own number of workers and its own target. */
  readonly also?: { readonly workers: number; readonly target: number };
}

/** The number of runs per second with several clients. */
export function throughput(asked: Throughput): Figures {
  return { what: asked.what, measure: (service, bare) => ratesOf(service, bare, asked) };
}

async function ratesOf({ port }: Served, bare: BarePrograms, asked: Throughput): Promise<Measurement[]> {
  const { what, submission, run, workers, targets, also, jobs = 240, clients: count } = asked;
  const clients = Array.from({ length: count }, () => openJobClient({ port, key: KEY }));
  const after: Rates = { ours: [], theirs: [] };
  for (let round = 0; round <= 5; round++) {
    const answer = await bare.order({ run, times: jobs, workers });
    const mine = await driven(clients, submission, jobs);
    if (round === 0) continue;
    after.theirs.push(perSecond(jobs, answer));
    after.ours.push(jobs / (mine / 1000));
  }
  const lasting: Rates = { ours: [], theirs: [] };
  const others: number[] = [];
  for (let round = 0; round < lastingRounds; round++) {
    lasting.theirs.push(await bareRate(bare, { run, times: jobs, workers }));
    if (also !== undefined) others.push(await bareRate(bare, { run, times: jobs, workers: also.workers }));
    lasting.ours.push(await lastingRate(clients, submission));
  }
  for (const client of clients) client[Symbol.dispose]();
  const name = 'bare' in run ? `bare ${run.bare}` : `cold ${run.cold}`;
  const row = (when: string, { ours, theirs }: Rates, by: number, target: number | null): Measurement => ({
    what: `${what}, ${when}`,
    value: median(ours),
    unit: '/s',
    baseline: { what: `${name}, ${by} ${by === 1 ? 'worker' : 'workers'}`, value: median(theirs) },
    spread: [Math.min(...ours), Math.max(...ours)],
    ...(target !== null && { target: { ratio: target, is: 'at least' as const } }),
  });
  return [
    row(AFTER_A_PAUSE, after, workers, targets[0]),
    row(WITHOUT_A_PAUSE, lasting, workers, targets[1]),
    ...(also === undefined ? [] : [row(WITHOUT_A_PAUSE, { ...lasting, theirs: others }, also.workers, also.target)]),
  ];
}

/** The runs per second, one number for each round. */
interface Rates {
  readonly ours: number[];
  readonly theirs: number[];
}

async function bareRate(bare: BarePrograms, order: BareOrder): Promise<number> {
  let [runs, milliseconds] = [0, 0];
  await whileLasting(async () => {
    milliseconds += (await bare.order(order)).milliseconds;
    runs += order.times;
  });
  return runs / (milliseconds / 1000);
}

async function lastingRate(clients: readonly JobClient[], submission: JobSubmission): Promise<number> {
  let runs = 0;
  const started = performance.now();
  await Promise.all(
    clients.map((client) =>
      whileLasting(async () => {
        await timedRun(client, submission);
        runs += 1;
      }),
    ),
  );
  return runs / ((performance.now() - started) / 1000);
}

function perSecond(times: number, { milliseconds }: BareAnswer): number {
  return times / (milliseconds / 1000);
}

/** Submits this many jobs as fast as the service accepts them, and measures the time until the last result. */
export function burst(asked: {
  readonly what: string;
  readonly jobs: number;
  readonly submission: JobSubmission;
}): Figures {
  return { what: asked.what, measure: async (service, bare) => [await millisecondsToTheLast(service, bare, asked)] };
}

/** The most connections that one address may have without a credential. */
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
