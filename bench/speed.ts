/**
 * What a job costs from submission to terminal result, compared with the bare interpreter and cold runtimes. Rounds take turns,
 * so that other work on the machine affects both sides. As by default, everything is durable, chained and signed. Then the cost
 * of the service itself: with very many stored jobs, at its start, and when idle. Also what the service leaves on the host.
 */
import type { JobSubmission } from '@vouchbox/protocol';
import { measure as measureHttp } from './http.ts';
import type { Measurement } from './measurement.ts';
import { type BarePrograms, startBarePrograms } from './speed/bare-programs.ts';
import { type Figures, hello, withService } from './speed/bench-service.ts';
import { leftovers } from './speed/leftovers.ts';
import { drainedOutput } from './speed/output.ts';
import { idleMemory, startTime } from './speed/own.ts';
import { burst, latency, throughput } from './speed/runs.ts';
import { manyStored } from './speed/stores.ts';

/** Prints almost as many bytes as one stream may store, in lines that fit the record caps. */
const MEBIBYTE: JobSubmission = { language: 'python', code: 'print((("x" * 1023) + "\\n") * 1023)' };

/** Figures for a service that has only the namespace class. */
const NAMESPACE_FIGURES: readonly Figures[] = [
  latency({ what: 'namespace python', submission: hello('python'), run: { bare: 'python' }, targets: [0.7, 2, 0.8] }),
  latency({ what: 'namespace node', submission: hello('node'), run: { bare: 'node' }, targets: [0.5, null, null] }),
  latency({
    what: 'namespace bash',
    submission: hello('bash'),
    run: { cold: 'crun', of: 'bash' },
    targets: [0.7, null, 0.9],
  }),
  throughput({
    what: 'python, 8 clients',
    clients: 8,
    submission: hello('python'),
    run: { bare: 'python' },
    workers: 8,
    targets: [1.5, 1],
  }),
  throughput({
    what: 'python, 32 clients',
    clients: 32,
    submission: hello('python'),
    run: { bare: 'python' },
    workers: 8,
    targets: [1, null],
  }),
  throughput({
    what: 'python with 1 MiB of output, 32 clients',
    clients: 32,
    submission: MEBIBYTE,
    run: { bare: 'mebibyte' },
    workers: 8,
    targets: [1, 0.7],
    jobs: 96,
  }),
  burst({ what: '500 jobs submitted at once, to the last result', jobs: 500, submission: hello('python') }),
  drainedOutput,
  leftovers,
];

/** Figures for a service that has only gVisor. */
const GVISOR_FIGURES: readonly Figures[] = [
  latency({
    what: 'gVisor python',
    submission: hello('python'),
    run: { cold: 'runsc', of: 'python' },
    targets: [0.12, null, 0.6],
    rounds: 6,
    jobs: 5,
  }),
  throughput({
    what: 'gVisor python, 2 clients',
    clients: 2,
    submission: hello('python'),
    run: { cold: 'runsc', of: 'python' },
    workers: 2,
    targets: [0.9, 1.1],
    also: { workers: 1, target: 1.6 },
    jobs: 10,
  }),
];

/** Measurements that need no special service, keyed by name. */
const OTHER_FIGURES: Readonly<
  Record<string, (options: SpeedOptions) => AsyncIterable<Measurement> | Promise<readonly Measurement[]>>
> = {
  'list of 50 beside bare Fastify': () => measureHttp({ only: 'list of 50' }),
  'stored jobs: detail, list, submission, start': ({ isLong }) => manyStored(isLong ? 1_000_000 : 100_000),
  'start to listening': startTime,
  'memory, idle': idleMemory,
};

export interface SpeedOptions {
  /** Measure only figures whose names contain this text. Default: all figures. */
  readonly only?: string | undefined;
  /** Whether to store a million jobs instead of a hundred thousand. This takes minutes. */
  readonly isLong?: boolean;
}

/** Latency, throughput, output and the service's own cost, in both classes. */
export async function* measure(options: SpeedOptions = {}): AsyncGenerator<Measurement> {
  using bare = startBarePrograms();
  const isWanted = (what: string) => what.includes(options.only ?? '');
  yield* ofService(
    'namespace',
    bare,
    NAMESPACE_FIGURES.filter(({ what }) => isWanted(what)),
  );
  yield* ofService(
    'gvisor',
    bare,
    GVISOR_FIGURES.filter(({ what }) => isWanted(what)),
  );
  for (const [what, measureOthers] of Object.entries(OTHER_FIGURES)) {
    if (isWanted(what)) yield* await measureOthers(options);
  }
}

async function* ofService(
  provider: 'namespace' | 'gvisor',
  bare: BarePrograms,
  wanted: readonly Figures[],
): AsyncGenerator<Measurement> {
  if (wanted.length === 0) return;
  const measured = await withService({ provider }, async (service) => {
    const measurements: Measurement[] = [];
    for (const figures of wanted) measurements.push(...(await figures.measure(service, bare)));
    return measurements;
  });
  yield* measured;
}
