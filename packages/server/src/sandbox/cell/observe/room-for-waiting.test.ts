/** The order in which memory limits are tried, on either cgroup version. Real cells are in `small-limits.test.ts`. */
import { expect, it } from 'vitest';
import type { GroupLocation } from '../../kernel/cgroup/cgroup.ts';
import { holdMemory } from './room-for-waiting.ts';

const MIB = 1024 * 1024;
const V1: GroupLocation = {
  version: 'v1',
  paths: { memory: '', pids: '', cpuacct: '', cpu: null, all: [] },
};
const V2: GroupLocation = { version: 'v2', directory: '' };

/** Sets a limit under a kernel that refuses limits below the memory in use. Returns the limits that were tried, in bytes. */
async function tried(
  location: GroupLocation,
  { wanted, unreclaimable, inUse, least }: Record<'wanted' | 'unreclaimable' | 'inUse' | 'least', number>,
): Promise<number[]> {
  const limits: number[] = [];
  const group = { location, unreclaimableBytes: () => unreclaimable };
  await holdMemory(group, { wanted, inUse: () => inUse }, async (memoryBytes) => {
    limits.push(memoryBytes);
    if (memoryBytes < least) throw Object.assign(new Error('busy'), { code: 'EBUSY' });
  });
  return limits;
}

it.each([
  ['v1: the wanted limit, if the kernel accepts it', V1, { inUse: 90, unreclaimable: 9.5, wanted: 1, least: 0 }, [1]],
  [
    'v1: otherwise the first whole MiB above the memory that stays',
    V1,
    { inUse: 90, unreclaimable: 9.5, wanted: 1, least: 9.5 },
    [1, 10],
  ],
  [
    'v1: one MiB more after each further refusal',
    V1,
    { inUse: 90, unreclaimable: 9.5, wanted: 1, least: 11.5 },
    [1, 10, 11, 12],
  ],
  [
    'v1: whole MiB more if the wanted limit is a fraction',
    V1,
    { inUse: 90, unreclaimable: 9, wanted: 1.25, least: 9 },
    [1.25, 9.25],
  ],
  [
    'v2: at once a limit above the memory that stays, because a lower one would kill',
    V2,
    { inUse: 90, unreclaimable: 9.5, wanted: 1, least: 0 },
    [10],
  ],
  ['v2: the wanted limit, if it is higher', V2, { inUse: 90, unreclaimable: 9.5, wanted: 64, least: 0 }, [64]],
] as const)(
  'a waiting cell gets this memory limit under cgroup %s',
  async (_title, location, { wanted, unreclaimable, inUse, least }, limits) => {
    const bytes = { wanted: wanted * MIB, unreclaimable: unreclaimable * MIB, inUse: inUse * MIB, least: least * MIB };
    expect(await tried(location, bytes)).toEqual(limits.map((mib) => mib * MIB));
  },
);

it('a memory limit that the kernel refuses for another reason than memory in use fails with that reason', async () => {
  const group = { location: V1, unreclaimableBytes: () => 0 };
  const refused = Object.assign(new Error('gone'), { code: 'ENODEV' });
  await expect(holdMemory(group, { wanted: MIB, inUse: () => 0 }, () => Promise.reject(refused))).rejects.toBe(refused);
});
