/** Many jobs of every kind, good and bad, several at a time. */
import type { Attack } from './hostile-case.ts';
import type { Target } from './target.ts';

const QUICK = { wall_seconds: 2, cpu_seconds: 1, mem_mb: 64, max_pids: 16 };
const MIXTURE: readonly Attack[] = [
  { program: 'work.py', values: { TOKEN: 'load' }, outputs: ['output/digest'] },
  { program: 'burst.py' },
  { program: 'environment.cjs' },
  { program: 'fork-bomb.py', limits: QUICK },
  { program: 'work.py', values: { TOKEN: 'load' }, outputs: ['output/digest', 'output/missing'] },
  { program: 'memory-bomb.py', limits: QUICK },
  { program: 'daemon.py' },
  { program: 'outputs-special.py', outputs: ['output/plain', 'output/absolute', 'output/fifo0', 'output/hole'] },
  { program: 'work.py', values: { TOKEN: 'load' } },
  { program: 'deep-path.py' },
  { program: 'tmpfs-bomb.py', limits: QUICK },
  { program: 'kill-all.py' },
  { program: 'closed-output.py', limits: { ...QUICK, wall_seconds: 0.3 } },
  { program: 'line-flood.py' },
  { program: 'core-dump.py' },
];
const AT_ONCE = 4;

/** Runs this many jobs from the mixture and counts their endings by kind. */
export async function runMixedLoad(target: Target, jobs: number): Promise<Readonly<Record<string, number>>> {
  const endings: Record<string, number> = {};
  let next = 0;
  const work = async () => {
    while (next < jobs) {
      const { ending } = await target.attack(MIXTURE[next++ % MIXTURE.length] as Attack);
      endings[ending.kind] = (endings[ending.kind] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return endings;
}
