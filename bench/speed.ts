/**
 * What a run costs from submission to terminal result, beside the bare interpreter and beside cold runtimes, in rounds that
 * take turns: whatever else the machine does meets both. Everything is durable, chained and signed, as by default.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JobSubmission, ServiceStatus } from '@svc/protocol';
import { residentMib, type Served, serveService } from './http/processes.ts';
import { type Measurement, median, percentile } from './measurement.ts';
import { type BareAnswer, type BareOrder, type BarePrograms, startBarePrograms } from './speed/bare-programs.ts';
import { type CellRemains, countRemains } from './speed/cell-remains.ts';
import { type JobClient, openJobClient } from './speed/job-client.ts';

const KEY = 'key-of-the-benchmark';
const FLAGS = {
  'legacy-keys': `bench=${KEY}`,
  'rate-per-second': '1000000',
  'rate-burst': '1000000',
  'queue-max': '100000',
  'tenant-queue-max': '100000',
  'free-space-reserve-mb': '0',
  'waits-max': '256',
  'tenant-waits-max': '256',
};
const HELLO: Readonly<Record<'python' | 'node' | 'bash', string>> = {
  python: 'print("hello")',
  node: 'console.log("hello")',
  bash: 'echo hello',
};
function hello(language: 'python' | 'node' | 'bash'): JobSubmission {
  return { language, code: HELLO[language] };
}

const MIB = 2 ** 20;
/** Just below what is stored of a stream, in lines that fit the record caps. */
const MEBIBYTE: JobSubmission = { language: 'python', code: 'print((("x" * 1023) + "\\n") * 1023)' };

type ServedCells = Awaited<ReturnType<typeof serveService>>;

/** Some figures: their name, and how they are measured. */
interface Figures {
  readonly what: string;
  measure(service: ServedCells, bare: BarePrograms): Promise<readonly Measurement[]>;
}

/** Of the service with the namespace class alone. */
const NAMESPACE_FIGURES: readonly Figures[] = [
  latency({ what: 'namespace python', submission: hello('python'), run: { bare: 'python' }, targets: [0.7, 2] }),
  latency({ what: 'namespace node', submission: hello('node'), run: { bare: 'node' }, targets: [0.5, null] }),
  latency({
    what: 'namespace bash',
    submission: hello('bash'),
    run: { cold: 'crun', of: 'bash' },
    targets: [0.7, null],
  }),
  throughput({
    what: 'python, 8 clients',
    clients: 8,
    submission: hello('python'),
    run: { bare: 'python' },
    workers: 8,
    target: 1.5,
  }),
  throughput({
    what: 'python, 32 clients',
    clients: 32,
    submission: hello('python'),
    run: { bare: 'python' },
    workers: 8,
    target: 1,
  }),
  throughput({
    what: 'python with 1 MiB of output, 32 clients',
    clients: 32,
    submission: MEBIBYTE,
    run: { bare: 'mebibyte' },
    workers: 8,
    target: 1,
    jobs: 96,
  }),
  { what: '64 MiB of output drained', measure: drained },
  { what: '1,000 used cells left', measure: leftovers },
];

/** Of the service with gVisor alone. */
const GVISOR_FIGURES: readonly Figures[] = [
  latency({
    what: 'gVisor python',
    submission: hello('python'),
    run: { cold: 'runsc', of: 'python' },
    targets: [0.12, null],
    rounds: 6,
    jobs: 5,
  }),
  throughput({
    what: 'gVisor python, 2 clients',
    clients: 2,
    submission: hello('python'),
    run: { cold: 'runsc', of: 'python' },
    workers: 2,
    target: 0.9,
    jobs: 10,
  }),
];

/** Latency, throughput, output and the service's own cost, in both classes; `only` those whose names have this in them. */
export async function* measure({
  only = '',
}: {
  readonly only?: string | undefined;
} = {}): AsyncGenerator<Measurement> {
  using bare = startBarePrograms();
  const wanted = (all: readonly Figures[]) => all.filter(({ what }) => what.includes(only));
  const measured = (all: readonly Figures[]) => async (service: ServedCells) => {
    const measurements: Measurement[] = [];
    for (const figures of all) measurements.push(...(await figures.measure(service, bare)));
    return measurements;
  };
  const [namespace, gvisor] = [wanted(NAMESPACE_FIGURES), wanted(GVISOR_FIGURES)];
  if (namespace.length > 0) yield* await withService('namespace', measured(namespace));
  if (gvisor.length > 0) yield* await withService('gvisor', measured(gvisor));
  if (OWN_FIGURES.includes(only)) yield* await ownFigures();
}

async function withService(
  provider: 'namespace' | 'gvisor',
  work: (service: ServedCells) => Promise<Measurement[]>,
  flags: Readonly<Record<string, string>> = {},
): Promise<Measurement[]> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  try {
    await using service = await serveService({ ...FLAGS, provider, ...flags }, directory);
    return await work(service);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

interface Latency {
  readonly what: string;
  readonly submission: JobSubmission;
  readonly run: BareOrder['run'];
  /** The most that the median and the 99th percentile may be of the baseline's; null where there is no such target. */
  readonly targets: readonly [number, number | null];
  readonly rounds?: number;
  readonly jobs?: number;
}

function latency(asked: Latency): Figures {
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

async function timedRun(client: JobClient, submission: JobSubmission): Promise<number> {
  const { milliseconds, result } = await client.timed(submission);
  if (result.status !== 'succeeded' || result.truncated || result.stdout.length === 0) {
    throw new Error(`a program ended ${result.status}: ${result.stderr.slice(0, 500)}`);
  }
  return milliseconds;
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

function throughput(asked: Throughput): Figures {
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

/** How long all jobs took together, every client with one job at a time. */
async function driven(clients: readonly JobClient[], submission: JobSubmission, jobs: number): Promise<number> {
  const started = performance.now();
  let left = jobs;
  const drive = async (client: JobClient) => {
    while (left-- > 0) await timedRun(client, submission);
  };
  await Promise.all(clients.map(drive));
  return performance.now() - started;
}

/** A flood past every cap, which the service reads to its end and stores the beginning of. */
async function drained(service: Served, bare: BarePrograms): Promise<Measurement[]> {
  using client = openJobClient({ port: service.port, key: KEY });
  const bytes = 64 * MIB;
  const submission: JobSubmission = {
    language: 'bash',
    code: `head -c ${bytes} /dev/zero`,
    limits: { wall_seconds: 60, cpu_seconds: 60 },
  };
  const before = residentMib(service.pid);
  let peak = before;
  const look = setInterval(() => {
    peak = Math.max(peak, residentMib(service.pid));
  }, 20);
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = 0; round <= 5; round++) {
    const { durations } = await bare.order({ run: { bare: 'flood' }, times: 1, workers: 1 });
    const { result } = await client.timed(submission);
    if (!result.truncated || result.status !== 'succeeded') throw new Error(`the flood ended ${result.status}`);
    if (round === 0) continue;
    theirs.push(bytes / MIB / ((durations[0] ?? Number.NaN) / 1000));
    ours.push(bytes / MIB / ((result.duration_ms ?? Number.NaN) / 1000));
  }
  clearInterval(look);
  return [
    {
      what: '64 MiB of output drained',
      value: median(ours),
      unit: 'MiB/s',
      baseline: { what: 'head into a pipe', value: median(theirs) },
      spread: [Math.min(...ours), Math.max(...ours)],
      target: { ratio: 0.5, is: 'at least' },
    },
    {
      what: '  memory of the service meanwhile, over before',
      value: peak - before,
      unit: 'MiB',
      baseline: { what: 'allowed', value: 64 },
      target: { ratio: 1, is: 'at most' },
    },
  ];
}

/** What is left of cells that were used: control groups, directories, mounts and processes, without those of cells that wait. */
async function leftovers({ port, pid, dataDirectory }: ServedCells): Promise<Measurement[]> {
  const clients = Array.from({ length: 8 }, () => openJobClient({ port, key: KEY }));
  const bash: JobSubmission = { language: 'bash', code: 'echo hello' };
  const [client] = clients as [JobClient];
  await driven(clients, bash, 8);
  const before = await quiet(client, () => countRemains(pid, dataDirectory));
  await driven(clients, bash, 1000);
  const after = await quiet(client, () => countRemains(pid, dataDirectory));
  for (const one of clients) one[Symbol.dispose]();
  return [
    {
      what: 'groups, directories, mounts, processes of 1,000 used cells left',
      value: after - before,
      unit: 'left',
      baseline: { what: 'allowed', value: 0 },
    },
  ];
}

const QUIET_MILLISECONDS_MAX = 10_000;

/** How much there is beside the cells that wait, once no job runs and no cell is being made; after a while as it then is. */
async function quiet(client: JobClient, count: () => CellRemains): Promise<number> {
  const deadline = performance.now() + QUIET_MILLISECONDS_MAX;
  for (;;) {
    const { running, parked } = await client.call<ServiceStatus>('GET', '/v1/status');
    const { groups, directories, mounts, processes } = count();
    const isQuiet = running === 0 && groups === parked.cells;
    if (isQuiet || performance.now() > deadline) return groups - parked.cells + directories + mounts + processes;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const OWN_FIGURES = 'start to listening, memory when idle';

/** How long a start takes and what the service holds when nobody asks anything of it. */
async function ownFigures(): Promise<Measurement[]> {
  const starts: number[] = [];
  let idle = Number.NaN;
  for (let round = 0; round <= 5; round++) {
    const started = performance.now();
    await withService(
      'namespace',
      async (service) => {
        starts.push(performance.now() - started);
        await new Promise((resolve) => setTimeout(resolve, 2000));
        idle = residentMib(service.pid);
        return [];
      },
      { provider: 'auto' },
    );
  }
  return [
    {
      what: 'start to listening, both classes there',
      value: median(starts.slice(1)),
      unit: 'ms',
      baseline: { what: 'allowed', value: 1000 },
      spread: [Math.min(...starts.slice(1)), Math.max(...starts.slice(1))],
      target: { ratio: 1, is: 'at most' },
    },
    {
      what: 'memory, idle',
      value: idle,
      unit: 'MiB',
      baseline: { what: 'allowed', value: 110 },
      target: { ratio: 1, is: 'at most' },
    },
  ];
}
