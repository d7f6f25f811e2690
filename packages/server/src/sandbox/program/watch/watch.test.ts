import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LIMIT_DEFAULTS, type RequestedLimits } from '@vouchbox/protocol';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openGroupRoot, readCgroupLayout } from '../../kernel/cgroup/layout.ts';
import { hostPatience } from '../../kernel/host/patience.ts';
import { instanceName } from '../../kernel/host/run-directory.ts';
import { openProvider } from '../../prove/preflight.ts';
import type { Collection } from '../../sandbox.ts';

/** The longest life of a program if no limit ends it. */
const PATIENCE_MILLISECONDS = 120_000;
const SPINNING = 'echo up; while :; do :; done';
const SLEEPING = 'echo up; exec sleep 600';

const ISOLATED = ['namespace', 'gvisor'] as const;
const ALL = [...ISOLATED, 'subprocess'] as const;
type Choice = (typeof ALL)[number];

describe('the thread that watches limits', () => {
  let directory: string;
  /** Enough seconds for a program to print something before its limit, even on a slow host. */
  let seconds: number;

  beforeAll(async () => {
    seconds = await hostPatience();
  });
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'svc-watch-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  test.each(ALL)('ends a %s program at its wall limit while the service’s thread is blocked', async (choice) => {
    const { ending, usage } = await runWhileBlocked(choice, SLEEPING, {
      wall_seconds: seconds,
      // On a slow host gVisor itself takes seconds of this limit.
      cpu_seconds: 20 * seconds,
    });
    expect(ending).toEqual({ kind: 'wall_limit' });
    expect(usage.wall_ms).toBeGreaterThanOrEqual(1000 * seconds);
  });

  test.each(ISOLATED)('ends a %s program at its CPU limit while the service’s thread is blocked', async (choice) => {
    const { ending } = await runWhileBlocked(choice, SPINNING, {
      cpu_seconds: seconds,
      // On a busy host the program takes many times as long.
      wall_seconds: 20 * seconds,
    });
    expect(ending).toEqual({ kind: 'cpu_limit' });
  });

  test.each(ALL)('does not end a %s program that ended in time and is collected late', async (choice) => {
    const { ending } = await runWhileBlocked(choice, 'echo up', { wall_seconds: seconds }, 1000 * seconds + 500);
    expect(ending).toEqual({ kind: 'exited', exit_code: 0 });
  });

  /** Releases a program, then blocks this thread until the program is dead, and at least for this long. */
  async function runWhileBlocked(
    choice: Choice,
    code: string,
    limits: Partial<RequestedLimits>,
    millisecondsMin = 0,
  ): Promise<Collection> {
    const options = { packsDirectory: null, workBytes: 1 << 24, hostPostureSha256: null };
    const { provider } = await openProvider({ choice, instance: directory, ...options });
    await using _ = provider;
    await using cell = await provider.prepare({ language: 'bash', runtime: null });
    const living = choice === 'subprocess' ? livingChildren() : livingIn(instanceName(directory));
    const program = { language: 'bash', code, stdin: null, files: [], outputs: [], args: [], env: {} } as const;
    const loaded = await cell.handOver({ ...program, limits: { ...LIMIT_DEFAULTS, ...limits } });
    const said = Promise.withResolvers<void>();
    const running = loaded.release(() => said.resolve());
    // If a limit ends the program before it has printed anything, the program is judged by how it ended.
    await Promise.race([said.promise, cell.ended]);
    blockUntilDead(living, millisecondsMin);
    return await running.collect();
  }
});

function blockUntilDead(living: () => number, millisecondsMin: number): void {
  const before = performance.now();
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  while (living() > 0 || performance.now() - before < millisecondsMin) {
    Atomics.wait(nothing, 0, 0, 10);
    if (performance.now() - before > PATIENCE_MILLISECONDS) throw new Error('the program outlived its limit');
  }
}

/** How many processes live in the control groups of a service. */
function livingIn(instance: string): () => number {
  const groups = openGroupRoot(readCgroupLayout(), instance);
  return () => groups.names().flatMap((name) => groups.open(name).members()).length;
}

/** How many children of this process live now. A zombie is dead. */
function livingChildren(): () => number {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'latin1').trim().split(' ').filter(Boolean);
  return () => children.filter((pid) => !/^State:\s+[ZX]/m.test(statusOf(pid))).length;
}

function statusOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'latin1');
  } catch {
    return 'State: X';
  }
}
