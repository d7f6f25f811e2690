/**
 * Shows that each cell has a process limit of its own. If no group counts processes, the kernel counts the processes of
 * each user. It counts them separately in each user namespace only since Linux 5.14. Two real cells show it: one keeps
 * all the processes that it may have while the other starts its own.
 */
import { LIMIT_DEFAULTS, outputText } from '@vouchbox/protocol';
import { within } from '../../ground/waiting/within.ts';
import type { Candidate } from '../classes/candidate.ts';
import { hostPatience } from '../kernel/host/patience.ts';
import { PLAIN_PROGRAM, type Program, type RunningCell } from '../sandbox.ts';

const PROCESSES = 6;
const SECONDS_MAX = 10;

/** A program that starts processes until one is refused, prints how many there are including itself, and keeps them. */
const FILLING = `import os, time
count = 1
try:
    while count < 64:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        count += 1
except BlockingIOError:
    pass
print(count, flush=True)
time.sleep(60)
`;

/** @throws Error if a cell cannot have exactly its number of processes while another cell uses all of its own */
export async function proveCellsApart(cells: Pick<Candidate, 'prepare'>): Promise<void> {
  await using first = await fill(cells);
  await using second = await fill(cells);
  const counts = [first.count, second.count];
  if (counts.some((count) => count !== PROCESSES)) {
    throw new Error(
      `this kernel does not hold max_pids for each cell: with ${PROCESSES} allowed, two cells had ${counts.join(' and ')}` +
        ' processes; Linux 5.14 or newer is needed, or a delegated control group (systemd: Delegate=yes)',
    );
  }
}

/** A cell that has as many processes as it gets, until it is disposed. */
async function fill(cells: Pick<Candidate, 'prepare'>): Promise<AsyncDisposable & { readonly count: number }> {
  const seconds = SECONDS_MAX * (await hostPatience());
  const cell = await cells.prepare({ language: 'python', runtime: null, readyMilliseconds: seconds * 1000 });
  const limits = { ...LIMIT_DEFAULTS, max_pids: PROCESSES, wall_seconds: 2 * seconds };
  const program: Program = { ...PLAIN_PROGRAM, language: 'python', code: FILLING, limits };
  const said = Promise.withResolvers<number>();
  let running: RunningCell | null = null;
  const end = async () => {
    running?.stop('server_shutdown');
    await running?.collect();
    await cell[Symbol.asyncDispose]();
  };
  try {
    const loaded = await cell.handOver(program);
    running = loaded.release((_, records) => said.resolve(Number(records.map(outputText).join(''))));
    return { count: await within(said.promise, seconds * 1000, Number.NaN), [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw error;
  }
}
