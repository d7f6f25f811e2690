/** How long the service takes to start, and how much memory it has when idle. */
import { readdirSync, readFileSync } from 'node:fs';
import { type Measurement, median } from '../measurement.ts';
import { withService } from './bench-service.ts';
import { residentTogetherMib } from './resident.ts';

const rounds = 7;
/** In this time the service gives back the memory that its start took, and ends its watching thread, which is idle. */
const idleMilliseconds = 45_000;

/** How long a start takes with both classes installed. The service opens only the stronger class. */
export async function startTime(): Promise<readonly Measurement[]> {
  const starts: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const started = performance.now();
    await withService({ provider: 'auto' }, async () => starts.push(performance.now() - started));
  }
  const measured = starts.slice(1);
  return [
    {
      what: 'start to listening, both classes there',
      value: median(measured),
      unit: 'ms',
      baseline: { what: 'allowed', value: 1000 },
      spread: [Math.min(...measured), Math.max(...measured)],
      target: { ratio: 1, is: 'at most' },
    },
  ];
}

/** The memory of the service's process and all its helpers, without parked cells. A shared page counts once. */
export async function idleMemory(): Promise<readonly Measurement[]> {
  const measurements: Measurement[] = [];
  // The first start after a change to the sources compiles them and keeps the compiler in memory.
  await withService({ provider: 'auto' }, () => Promise.resolve());
  for (const provider of ['auto', 'namespace'] as const) {
    const { own, helpers, anonymous } = await withService({ provider, 'parked-mb-max': '0' }, async ({ pid }) => {
      await new Promise((resolve) => setTimeout(resolve, idleMilliseconds));
      const others = descendantsOf(pid);
      const own = residentTogetherMib([pid]);
      return {
        own,
        helpers: residentTogetherMib([pid, ...others]) - own,
        anonymous: anonymousMib(pid),
      };
    });
    measurements.push({
      what: `memory, idle, ${provider === 'auto' ? 'both classes there' : 'namespace class'}`,
      value: own + helpers,
      unit: 'MiB',
      baseline: { what: 'allowed', value: 110 },
      target: { ratio: 1, is: 'at most' },
      note: `${own.toFixed(0)} MiB of the service, ${anonymous.toFixed(0)} of them its own and the rest pages of files; ${helpers.toFixed(0)} MiB of helpers`,
    });
  }
  return measurements;
}

/** A process's resident memory that is not backed by a file, in MiB. proc_pid_status(5). */
function anonymousMib(pid: number): number {
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) / 1024;
}

/** Every descendant of a process. */
function descendantsOf(pid: number): readonly number[] {
  const parents = new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((name) => [Number(name), parentOf(name)]),
  );
  const below = (parent: number): number[] =>
    [...parents].filter(([, of]) => of === parent).flatMap(([child]) => [child, ...below(child)]);
  return below(pid);
}

/** The parent of a process; 0 if the process has just ended. proc_pid_stat(5). */
function parentOf(pid: string): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0;
  }
}
