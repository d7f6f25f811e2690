/** Groups on the layout of this very host, with real processes in them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Group, type GroupRoot, UNLIMITED } from './cgroup.ts';
import { GroupV2 } from './group-v2.ts';
import { openGroupRoot, readCgroupLayout } from './layout.ts';

const MIB = 1024 * 1024;
let groups: GroupRoot;

beforeAll(() => {
  groups = openGroupRoot(readCgroupLayout(), `svc-group-test-${randomUUID()}`);
});
afterAll(() => groups.dispose());

/** A shell that runs `script` once the shell is in the group. */
function startIn(group: Group, script: string): ChildProcess {
  const child = spawn('/bin/sh', ['-c', `read _; ${script}`], { stdio: ['pipe', 'pipe', 'ignore'] });
  for (const file of group.joinFiles) writeFileSync(file, String(child.pid));
  child.stdin?.end('go\n');
  return child;
}

describe('a control group', () => {
  it('says which limits the kernel enforces', async () => {
    const group = groups.create('limits');
    expect(group.limit({ memoryBytes: 64 * MIB, processes: 7 })).toEqual({ memoryBytes: 64 * MIB, processes: 7 });
    expect(group.limit({ memoryBytes: 128 * MIB, processes: 9 })).toEqual({ memoryBytes: 128 * MIB, processes: 9 });
    expect(group.limit({ memoryBytes: 32 * MIB, processes: 5 })).toEqual({ memoryBytes: 32 * MIB, processes: 5 });
    await group.remove();
  });

  it('counts a process that the kernel killed for lack of memory', async () => {
    const group = groups.create('memory');
    group.limit({ memoryBytes: 16 * MIB, processes: 20 });
    await once(startIn(group, 'exec tail /dev/zero'), 'exit');
    expect(group.read('oomKills')).toBeGreaterThan(0);
    expect(group.read('memoryPeakBytes')).toBeGreaterThan(8 * MIB);
    await group.remove();
  });

  it('first gets a small share of the processors, and later its whole share', async () => {
    const group = groups.create('share');
    const read = () => {
      const { location } = group;
      if (location.version === 'v2') return Number(readFileSync(join(location.directory, 'cpu.weight')));
      return Number(readFileSync(join((location.version === 'v1' && location.paths.cpu) || '', 'cpu.shares')));
    };
    const whole = read();
    group.write(group.plan.toShare(1 / 16));
    expect(Math.abs(read() - whole / 16)).toBeLessThan(1);
    group.write(group.plan.toShare(1));
    expect(read()).toBe(whole);
    await group.remove();
  });

  it('counts how often the kernel refused to make a process in the group', async () => {
    const group = groups.create('pids');
    group.limit({ memoryBytes: 64 * MIB, processes: 2 });
    await once(startIn(group, 'sleep 0 & sleep 0 & sleep 0 & wait'), 'exit');
    expect(group.read('processesRefused')).toBeGreaterThan(0);
    await group.remove();
  });

  it('kills every process inside, and is gone once it is removed', async () => {
    const group = groups.create('kill');
    const child = startIn(group, 'sleep 1000 & sleep 1000 & echo up; wait');
    await once(child.stdout as NonNullable<typeof child.stdout>, 'data');
    expect(group.members().length).toBe(3);
    const exited = once(child, 'exit');
    await group.remove();
    expect((await exited)[1]).toBe('SIGKILL');
    expect(groups.names()).not.toContain('kill');
    expect(group.members()).toEqual([]);
  });

  it('does not count forks as refused while its processes are killed', async () => {
    for (let round = 0; round < 5; round++) {
      const group = groups.create(`forks-${round}`);
      group.limit({ memoryBytes: 64 * MIB, processes: 64 });
      const child = startIn(group, `${'while :; do /bin/true; done & '.repeat(8)} echo up; wait`);
      await once(child.stdout as NonNullable<typeof child.stdout>, 'data');
      const exited = once(child, 'exit');
      group.kill();
      await exited;
      await expect.poll(() => group.members()).toEqual([]);
      expect(group.read('processesRefused')).toBe(0);
      await group.remove();
    }
  });

  it('can be removed a second time, and can be removed by its name alone', async () => {
    await groups.create('twice').remove();
    await groups.open('twice').remove();
    groups.create('forgotten');
    expect(groups.names()).toContain('forgotten');
    await groups.open('forgotten').remove();
    expect(groups.names()).not.toContain('forgotten');
  });
});

describe('a group of cgroup v2', () => {
  it('has no memory peak if the kernel keeps none', () => {
    const parent = mkdtempSync(join(tmpdir(), 'svc-group-v2-'));
    const directory = join(parent, 'cell');
    mkdirSync(directory);
    writeFileSync(join(directory, 'memory.current'), '4096\n');
    expect(new GroupV2(directory).read('memoryPeakBytes')).toBeNaN();
    expect(new GroupV2(directory).read('memoryBytes')).toBe(4096);
    rmSync(parent, { recursive: true });
  });

  it('has the memory peak that the kernel keeps', () => {
    const parent = mkdtempSync(join(tmpdir(), 'svc-group-v2-'));
    const directory = join(parent, 'cell');
    mkdirSync(directory);
    for (const name of [parent, directory]) writeFileSync(join(name, 'memory.peak'), '8192\n');
    expect(new GroupV2(directory).read('memoryPeakBytes')).toBe(8192);
    rmSync(parent, { recursive: true });
  });
});

describe('the plan of a group of cgroup v2', () => {
  const limits = { memoryBytes: MIB, processes: 3 };

  function planWith(files: readonly string[]) {
    const parent = mkdtempSync(join(tmpdir(), 'svc-group-v2-'));
    onTestFinished(() => rmSync(parent, { recursive: true }));
    for (const name of files) writeFileSync(join(parent, name), '');
    return new GroupV2(join(parent, 'cell')).plan;
  }

  it('lets the kernel kill all processes of a cell together, and limits swap, if the kernel can', () => {
    const plan = planWith(['memory.oom.group', 'memory.swap.max', 'cpu.weight']);
    const files = plan.toLimit(limits, UNLIMITED).map(({ file, value }) => `${file}=${value}`);
    expect(files).toEqual([`memory.max=${MIB}`, 'memory.swap.max=0', 'memory.oom.group=1', 'pids.max=3']);
    expect(plan.toShare(1 / 2)).toEqual([{ directory: 0, file: 'cpu.weight', value: 50 }]);
  });

  it('does not write files that the kernel or the delegated group lacks', () => {
    const plan = planWith([]);
    expect(plan.toLimit(limits, UNLIMITED).map(({ file }) => file)).toEqual(['memory.max', 'pids.max']);
    expect(plan.toShare(1 / 2)).toEqual([]);
    expect(plan.readings.memoryPeakBytes).toBeNull();
  });
});
