import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GroupRoot } from '../cgroup/cgroup.ts';
import { openGroupRoot, readCgroupLayout } from '../cgroup/layout.ts';
import type { CellOptions } from '../oci/cell-options.ts';
import { buildRootfs } from '../oci/rootfs.ts';
import { systemPack } from '../packs/system-pack.ts';
import { launcherConfiguration } from './configuration.ts';
import { Launcher } from './launcher.ts';
import { launcherRuntime } from './runtime.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-launcher-test-'));
const rootfs = join(directory, 'rootfs');
let groups: GroupRoot;

beforeAll(() => {
  groups = openGroupRoot(readCgroupLayout(), `svc-launcher-test-${randomUUID()}`);
  buildRootfs(rootfs);
});
afterAll(async () => {
  await Promise.all(groups.names().map((name) => groups.open(name).remove()));
  groups.dispose();
  rmSync(directory, { recursive: true });
});

async function cellOptions(changes: Partial<CellOptions> = {}): Promise<CellOptions> {
  const id = randomUUID();
  return {
    id,
    runtime: await launcherRuntime(),
    pack: await systemPack(),
    language: 'bash',
    group: groups.create(id),
    directory: join(directory, id),
    rootfs,
    programs: join(import.meta.dirname, '../oci'),
    rootUid: 0x6f000000,
    hybridMount: groups.hybridMount,
    workBytes: 1024 * 1024,
    hostPostureSha256: null,
    loopback: false,
    readyMilliseconds: 10_000,
    ...changes,
  };
}

function launcherFor(
  options: CellOptions,
  change: (lines: readonly string[]) => readonly string[] = (lines) => lines,
  more: { readonly cellsOfOneMax?: number } = {},
) {
  const configuration = change(launcherConfiguration(options, null));
  return new Launcher({ program: options.runtime.path, configuration, ...more });
}

describe('a launcher', () => {
  it('makes a process in the group of its cell, and says when it has ended', async () => {
    const options = await cellOptions();
    await using launcher = launcherFor(options);
    const made = await launcher.make(options.id, options.rootUid);
    expect(options.group.members()).toContain(made.pid);
    options.group.kill();
    await made.ended;
    made.forget();
  });

  it('keeps the id of a process that ended until it is forgotten', async () => {
    const options = await cellOptions();
    await using launcher = launcherFor(options);
    const { pid, ended, forget } = await launcher.make(options.id, options.rootUid);
    options.group.kill();
    await ended;
    expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(/^State:\s+Z/m);
    forget();
    await expect.poll(() => processExists(pid)).toBe(false);
  });

  it('refuses a cell whose group is not there, and makes the next', async () => {
    const options = await cellOptions();
    await using launcher = launcherFor(options);
    await expect(launcher.make(randomUUID(), options.rootUid)).rejects.toThrow(/cannot open the group/);
    const made = await launcher.make(options.id, options.rootUid);
    options.group.kill();
    await made.ended;
  });

  it('takes its cells with it when it is killed, and is started again for the next', async () => {
    const first = await cellOptions();
    await using launcher = launcherFor(first);
    const { pid, ended } = await launcher.make(first.id, first.rootUid);
    process.kill(parentOf(pid), 'SIGKILL');
    await ended;
    await expect.poll(() => first.group.members()).toEqual([]);
    const second = await cellOptions();
    const made = await launcher.make(second.id, second.rootUid);
    expect(second.group.members()).toContain(made.pid);
    second.group.kill();
    await made.ended;
  });

  it('gives way to a new process after so many cells, and ends once the last of them is forgotten', async () => {
    const options = await cellOptions();
    await using launcher = launcherFor(options, (lines) => lines, { cellsOfOneMax: 1 });
    const first = await launcher.make(options.id, options.rootUid);
    const old = parentOf(first.pid);
    await expect
      .poll(async () => {
        const { id, rootUid, group } = await cellOptions();
        const next = await launcher.make(id, rootUid);
        const parent = parentOf(next.pid);
        group.kill();
        await next.ended;
        next.forget();
        return parent;
      })
      .not.toBe(old);
    expect(options.group.members()).toContain(first.pid);
    options.group.kill();
    await first.ended;
    expect(processExists(old)).toBe(true);
    first.forget();
    await expect.poll(() => processExists(old)).toBe(false);
  });

  it('that cannot be configured refuses with what it says', async () => {
    const options = await cellOptions();
    await using launcher = launcherFor(options, (lines) => [...lines, 'nonsense 1']);
    await expect(launcher.make(options.id, options.rootUid)).rejects.toThrow(/unknown keyword: nonsense/);
  });

  it('shows no tree that is a link', async () => {
    const options = await cellOptions();
    await using launcher = launcherFor(options, (lines) => [...lines, 'tree 7 /proc/self\t/usr']);
    await expect(launcher.make(options.id, options.rootUid)).rejects.toThrow(/\/proc\/self is a symbolic link/);
  });

  it('makes no cell once it is closed', async () => {
    const options = await cellOptions();
    const launcher = launcherFor(options);
    await launcher[Symbol.asyncDispose]();
    await expect(launcher.make(options.id, options.rootUid)).rejects.toThrow(/closed/);
  });
});

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
