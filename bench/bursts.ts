/**
 * Measures whether a service with default budgets answers many runs that a client or an adapter makes at once, and how long they
 * take together. The baseline is a caller that makes the same runs but bounds itself. Each caller is a separate process.
 */
import { openAdapter } from '@vouchbox/adapters';
import { createServiceClient } from '@vouchbox/client';
import { type Answered, type CallerName, CallerProcess } from './bursts/callers.ts';
import { serveService } from './http/processes.ts';
import { type Measurement, median } from './measurement.ts';
import { KEY, scratchDirectory, TENANT } from './speed/bench-service.ts';

const ADAPTERS = ['piston', 'judge0', 'sandbox-fusion'] as const;
const CALLERS: readonly CallerName[] = ['typescript', 'python', ...ADAPTERS];
const SIZES = [1, 10, 100, 1000];
/** How many calls a careful caller keeps open. This is enough to use every core of the measured host. */
const BOUND = 8;
/** Two rounds are enough for the largest size: in each round, both sides make a thousand runs. */
const roundsOf = (size: number): number => (size < 1000 ? 4 : 2);

interface BurstOptions {
  /** Run only callers whose names contain this text. Default: all callers. */
  readonly only?: string | undefined;
}

export async function* measure({ only = '' }: BurstOptions = {}): AsyncGenerator<Measurement> {
  using scratch = scratchDirectory();
  const flags = { 'legacy-keys': `${TENANT}=${KEY}`, provider: 'namespace', 'free-space-reserve-mb': '0' };
  await using service = await serveService(flags, scratch.path);
  const url = `http://127.0.0.1:${service.port}`;
  for (const name of CALLERS.filter((caller) => caller.includes(only))) {
    await using adapter = ADAPTERS.includes(name as (typeof ADAPTERS)[number]) ? await adapterOf(name, url) : null;
    await using caller = new CallerProcess(name, { url: adapter?.url ?? url, key: KEY });
    for (const size of SIZES) yield* burst(caller, size);
  }
}

async function adapterOf(name: CallerName, baseUrl: string) {
  const client = createServiceClient({ baseUrl, apiKey: KEY });
  return await openAdapter(name as (typeof ADAPTERS)[number], { client, host: '127.0.0.1', port: 0, key: null });
}

async function* burst(caller: CallerProcess, size: number): AsyncGenerator<Measurement> {
  const [ours, theirs]: [Answered[], Answered[]] = [[], []];
  for (let round = 0; round <= roundsOf(size); round++) {
    const careful = await caller.order({ runs: size, atOnce: Math.min(size, BOUND) });
    const mine = await caller.order({ runs: size, atOnce: size });
    if (round === 0 && size < 1000) continue;
    ours.push(mine);
    theirs.push(careful);
  }
  const times = ours.map(({ milliseconds }) => milliseconds);
  const what = `${caller.name}, ${size} ${size === 1 ? 'run' : 'runs at once'}`;
  yield {
    what,
    value: median(times),
    unit: 'ms',
    baseline: { what: `at most ${BOUND} at once`, value: median(theirs.map(({ milliseconds }) => milliseconds)) },
    spread: [Math.min(...times), Math.max(...times)],
    target: { ratio: 1.3, is: 'at most' },
  };
  const problem = [...ours, ...theirs].find(({ problem: found }) => found !== null)?.problem;
  yield {
    what: `${what}, without an answer`,
    value: ours.reduce((sum, { unanswered }) => sum + unanswered, 0),
    unit: '',
    baseline: { what: 'allowed', value: 0 },
    valueMax: 0,
    ...(problem != null && { note: problem }),
  };
}
