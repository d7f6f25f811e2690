import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readCgroupLayout } from './layout.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-layout-'));
afterAll(() => rmSync(root, { recursive: true }));

function v2Mount(controllers: string): string {
  const path = mkdtempSync(join(root, 'v2-'));
  writeFileSync(join(path, 'cgroup.controllers'), `${controllers}\n`);
  for (const name of ['cgroup.subtree_control', 'cgroup.procs']) writeFileSync(join(path, name), '');
  return path;
}

const line = (path: string, type: string, options: string) =>
  `30 25 0:26 / ${path} rw,nosuid shared:4 - ${type} ${type} rw,${options}`;

/** A delegated group. On a real host, the process may not write the files of the mount's root; here those files are missing. */
function delegated(controllers: string, name = 'system.slice/vouchbox.service') {
  const mount = mkdtempSync(join(root, 'v2-'));
  const own = join(mount, name);
  mkdirSync(own, { recursive: true });
  for (const directory of [mount, own]) writeFileSync(join(directory, 'cgroup.controllers'), `${controllers}\n`);
  for (const file of ['cgroup.subtree_control', 'cgroup.procs']) writeFileSync(join(own, file), '');
  return { own, layout: (ownGroups: string) => readCgroupLayout(line(mount, 'cgroup2', ''), ownGroups) };
}

describe('the layout of control groups', () => {
  it('uses the group of this process if the root of the mount is not writable', () => {
    const { own, layout } = delegated('memory pids');
    expect(layout('0::/system.slice/vouchbox.service\n')).toMatchObject({ usable: { v2: own }, problem: null });
  });

  it('uses the delegated group even after this process moved to a leaf of that group', () => {
    const { own, layout } = delegated('memory pids');
    const moved = '0::/system.slice/vouchbox.service/svc-supervisor\n';
    expect(layout(moved)).toMatchObject({ usable: { v2: own }, problem: null });
  });

  it('is unusable if nothing was delegated, and says what to do', () => {
    const { layout } = delegated('memory pids');
    expect(layout('0::/user.slice\n').usable).toBeNull();
    expect(layout('0::/user.slice\n').problem).toMatch(/Delegate=yes/);
  });

  it('is v2 if the only mount has the controllers', () => {
    const path = v2Mount('cpuset cpu io memory hugetlb pids');
    expect(readCgroupLayout(line(path, 'cgroup2', 'nsdelegate'))).toEqual({
      version: 'v2',
      usable: { v2: path },
      hybridMount: null,
      problem: null,
    });
  });

  it('is hybrid if v1 has the controllers and v2 is beside it', () => {
    const v2 = v2Mount('hugetlb');
    const mounts = ['memory', 'pids', 'cpuacct', 'cpu'].map((name) =>
      line(mkdtempSync(join(root, 'v1-')), 'cgroup', name),
    );
    const layout = readCgroupLayout([...mounts, line(v2, 'cgroup2', 'nsdelegate')].join('\n'));
    expect(layout).toMatchObject({ version: 'hybrid', hybridMount: v2, problem: null });
  });

  it('is v1 if controllers share a mount and there is no v2', () => {
    const cpu = mkdtempSync(join(root, 'v1-'));
    const other = mkdtempSync(join(root, 'v1-'));
    const layout = readCgroupLayout(
      [line(cpu, 'cgroup', 'cpu,cpuacct'), line(other, 'cgroup', 'memory,pids')].join('\n'),
    );
    expect(layout).toMatchObject({
      version: 'v1',
      usable: { v1: { cpu, cpuacct: cpu, memory: other, pids: other } },
      hybridMount: null,
    });
  });

  it.each([
    ['nothing is mounted', '', /mount cgroup2/],
    ['v2 lacks the memory controller', line(v2Mount('cpu pids'), 'cgroup2', ''), /memory and pids controllers/],
    ['v1 lacks the pids controller', line('/nowhere', 'cgroup', 'memory'), /memory and pids controllers/],
  ])('is unusable if %s, and says what to do', (_, mountinfo, problem) => {
    const layout = readCgroupLayout(mountinfo);
    expect(layout).toMatchObject({ version: 'none', usable: null });
    expect(layout.problem).toMatch(problem);
  });

  it('is usable on the host that runs this test as root', () => {
    expect(readCgroupLayout().problem).toBeNull();
  });
});
