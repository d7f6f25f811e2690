/**
 * What a test of launchers needs to make cells: groups, users and a root of its own. They are removed after the tests of a file.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { buildRootfs } from '../../cell/rootfs.ts';
import type { CellOptions, ReservedCell } from '../../cell/runtime.ts';
import type { GroupRoot } from '../../kernel/cgroup/cgroup.ts';
import { openGroupRoot, readCgroupLayout } from '../../kernel/cgroup/layout.ts';
import { systemPack } from '../../packs/system-pack.ts';
import { launcherRuntime } from './runtime.ts';

export function useCells() {
  const directory = mkdtempSync(join(tmpdir(), 'svc-launcher-test-'));
  const rootfs = join(directory, 'rootfs');
  let groups: GroupRoot;
  let users = 0x70000000;
  beforeAll(() => {
    groups = openGroupRoot(readCgroupLayout(), `svc-launcher-test-${randomUUID()}`);
    buildRootfs(rootfs);
  });
  afterAll(async () => {
    await Promise.all(groups.names().map((name) => groups.open(name).remove()));
    groups.dispose();
    rmSync(directory, { recursive: true });
  });

  function reserveCell(): ReservedCell {
    const id = randomUUID();
    const group = groups.open(id);
    users += 2;
    return { id, rootUid: users, group, [Symbol.asyncDispose]: async () => await group.remove() };
  }

  async function cellOptions(changes: Partial<CellOptions> = {}): Promise<CellOptions> {
    const id = randomUUID();
    return {
      id,
      runtime: await launcherRuntime(groups),
      pack: await systemPack(),
      language: 'bash',
      owner: undefined,
      hasTools: false,
      hasLibraries: false,
      reserve: reserveCell,
      group: groups.open(id),
      directory: join(directory, id),
      rootfs,
      rootUid: 0x70000000,
      hybridMount: groups.hybridMount,
      workBytes: 1024 * 1024,
      hostPostureSha256: null,
      loopback: false,
      readyMilliseconds: 10_000,
      ...changes,
    };
  }

  return { reserveCell, cellOptions, groupNames: () => groups.names() };
}
