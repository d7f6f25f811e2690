/**
 * Cells that hang at the hand-over: the service waits a bounded time for their process 1, and leaves nothing of them behind.
 * Forked cells are not tried here, because their limits are set from outside.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LIMIT_DEFAULTS } from '@vouchbox/protocol';
import { expect, it } from 'vitest';
import { openGroupRoot, readCgroupLayout } from '../kernel/cgroup/layout.ts';
import { instanceName } from '../kernel/host/run-directory.ts';
import { openProvider } from '../prove/preflight.ts';
import { type Program, wasUnanswered } from '../sandbox.ts';

const PROGRAM: Program = {
  language: 'bash',
  code: 'echo hello',
  stdin: null,
  args: [],
  env: {},
  files: [],
  outputs: [],
  limits: LIMIT_DEFAULTS,
};

it.concurrent.each([
  ['crun', { choice: 'namespace', namespaceLauncher: 'crun' }],
  ['gVisor', { choice: 'gvisor', gvisorStarter: 'direct' }],
  ['runsc', { choice: 'gvisor', gvisorStarter: 'runsc' }],
] as const)(
  'a %s cell whose processes are stopped fails in bounded time when it gets a program',
  async (_name, choice) => {
    const directory = mkdtempSync(join(tmpdir(), 'svc-unanswered-'));
    const options = { instance: directory, packsDirectory: null, workBytes: 1 << 20, hostPostureSha256: null };
    const { provider } = await openProvider({ ...choice, ...options });
    await using _ = provider;
    const groups = openGroupRoot(readCgroupLayout(), instanceName(directory));
    const cell = await provider.prepare({ language: 'bash', runtime: null });
    const members = groups.names().flatMap((name) => groups.open(name).members());
    expect(members.length).toBeGreaterThan(0);
    for (const pid of members) process.kill(pid, 'SIGSTOP');
    const error = await cell.handOver(PROGRAM).catch((reason: unknown) => reason);
    expect([wasUnanswered(error), String(error)]).toEqual([true, expect.stringContaining('set no limits within')]);
    await cell[Symbol.asyncDispose]();
    expect(groups.names()).toEqual([]);
    rmSync(directory, { recursive: true });
  },
  120_000,
);
