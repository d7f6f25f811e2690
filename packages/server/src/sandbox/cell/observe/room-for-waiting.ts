/**
 * Sets limits on a waiting cell. A limit cannot be lower than what the cell's threads and memory already take. If a job wants a
 * lower one, the lowest possible limit is set and reported instead. Spec § Job submission, limits.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Group } from '../../kernel/cgroup/cgroup.ts';

const MIB = 1024 * 1024;
/** How long the kernel may count memory that it has already freed. */
const SETTLED_MILLISECONDS_MAX = 2000;

/**
 * Sets the memory limit of a group, in bytes. A wanted limit below the memory in use is raised by the fewest whole MiB
 * that suffice. cgroup v1 refuses a lower one (`EBUSY`). v2 would kill processes, so there the usage is read first.
 * @param inUse how much memory the group used when the cell began to wait
 */
export async function holdMemory<Result>(
  group: Pick<Group, 'location' | 'unreclaimableBytes'>,
  { wanted, inUse }: { readonly wanted: number; readonly inUse: () => number },
  set: (memoryBytes: number) => Promise<Result>,
): Promise<Result> {
  const deadline = performance.now() + SETTLED_MILLISECONDS_MAX;
  const missing = (memoryBytes: number) => Math.ceil((group.unreclaimableBytes() - memoryBytes) / MIB) * MIB;
  let memoryBytes = wanted;
  if (group.location.version === 'v2' && inUse() > wanted) memoryBytes += Math.max(0, missing(memoryBytes));
  for (;;) {
    try {
      return await set(memoryBytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY' || performance.now() > deadline) throw error;
    }
    const more = missing(memoryBytes);
    if (more > 0) memoryBytes += more;
    else {
      // The kernel could not take back pages of files in time.
      await delay(1);
      memoryBytes += MIB;
    }
  }
}
