/** After its work, a service holds as many of its host's resources as before. */
import assert from 'node:assert/strict';
import { leftoversOf } from '../rig/leftovers.ts';
import type { Holdings } from './holdings.ts';
import type { HostileCase } from './hostile-case.ts';
import { namespaceLauncher } from './launchers.ts';
import { doSeparately } from './separate-service.ts';
import { CASE_MILLISECONDS_MAX, sizeFor } from './size.ts';
import { Target } from './target.ts';

const MIB = 1024 * 1024;
/** How many jobs from the mixture are run. */
const JOBS = { namespace: 45, gvisor: 15, full: 1000 } as const;

/** One launcher for each language: Python, Node and bash from the mixture, and TypeScript from a canary. */
const LAUNCHERS = 4;

export const leakCases: readonly HostileCase[] = [
  {
    id: 'RES-24',
    title: 'a provider that is closed while it makes and runs cells leaves none of them',
    holds: 'closing waits for cells that are being made, and ends them',
    async scenario({ hostileClass }) {
      const target = await Target.open(hostileClass);
      const { seen } = await target.start({ program: 'wait.sh' });
      const request = { language: 'bash', runtime: null } as const;
      const others = Promise.allSettled([seen, ...[1, 2, 3].map(() => target.provider.prepare(request))]);
      await target[Symbol.asyncDispose]();
      assert.deepEqual(leftoversOf(target.dataDirectory), []);
      await assert.rejects(target.provider.prepare(request), { name: 'BootstrapError' });
      await others;
      assert.deepEqual(leftoversOf(target.dataDirectory), []);
    },
  },
  {
    id: 'RES-24',
    title: 'after a load of jobs of every kind, processes, groups, cells, mounts, descriptors and memory are as before',
    holds: 'the end of a cell removes everything of it, and is waited for',
    alone: true,
    async scenario({ hostileClass }) {
      const jobs = sizeFor(hostileClass, JOBS);
      const { before, after, outcomes } = (await doSeparately(
        { kind: 'load', hostileClass, jobs },
        { millisecondsMax: Math.max(600_000, CASE_MILLISECONDS_MAX) },
      )) as {
        before: Holdings;
        after: Holdings;
        outcomes: Record<string, number>;
      };
      const { residentBytes: grownFrom, ...held } = before;
      const { residentBytes: grownTo, ...stillHeld } = after;
      assert.deepEqual(stillHeld, held);
      assert.deepEqual([held.groups, held.cells], [0, 0]);
      // Each language's launcher continues to run. A runtime, in contrast, exists for one cell only.
      const launchers = hostileClass === 'namespace' && namespaceLauncher() === 'fork' ? LAUNCHERS : 0;
      assert.equal(held.children, launchers);
      assert.ok(grownTo - grownFrom < 20 * MIB, `grew by ${Math.round((grownTo - grownFrom) / MIB)} MiB`);
      assert.equal(
        Object.values(outcomes).reduce((sum, count) => sum + count, 0),
        jobs,
      );
      assert.equal(outcomes['runtime_failed'], undefined);
    },
  },
];
