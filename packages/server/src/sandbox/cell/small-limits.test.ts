/**
 * Limits below what a waiting cell already uses: the smallest possible limit is enforced and reported. Every higher limit is
 * enforced exactly.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LIMIT_DEFAULTS, outputText, type RequestedLimits } from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { quickTest as it, slowTest } from '../../../../../test/rig/form.ts';
import type { PreflightOptions } from '../classes/candidate.ts';
import { openProvider } from '../prove/preflight.ts';
import type { Collection, HeldLimits, Program, Provider } from '../sandbox.ts';

const MIB = 1024 * 1024;
const PATIENT = { wall_seconds: 60, cpu_seconds: 30 };

/** A program that prints how many threads it has, and how many waiting processes it can start. */
const CHILDREN = {
  node: `const { spawn } = require('node:child_process');
const threads = require('node:fs').readdirSync('/proc/self/task').length;
let made = 0;
let left = 12;
for (let at = 0; at < 12; at++) {
  const child = spawn('/bin/sleep', ['30']);
  child.on('spawn', () => made++);
  for (const event of ['spawn', 'error']) child.once(event, () => --left || (console.log(threads, made), process.exit()));
}`,
  bash: `made=0; for at in 1 2 3 4 5 6; do sleep 30 & done 2>/dev/null; jobs -p | wc -l`,
} as const;

describe.each([
  ['forked', { choice: 'namespace', namespaceLauncher: 'fork' }],
  ['crun', { choice: 'namespace', namespaceLauncher: 'crun' }],
  ['gVisor', { choice: 'gvisor' }],
] as const)(
  'in a %s cell',
  { tags: ['Submission-26b', 'Receipt-18', 'Receipt-18a'] },
  (name, choice: Pick<PreflightOptions, 'choice'>) => {
    let provider: Provider;
    let directory: string;

    beforeAll(async () => {
      directory = mkdtempSync(join(tmpdir(), 'svc-small-limits-'));
      const options = { instance: directory, packsDirectory: null, workBytes: 1 << 24, hostPostureSha256: null };
      ({ provider } = await openProvider({ ...choice, ...options }));
    });
    afterAll(async () => {
      await provider[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true });
    });

    async function run(
      language: Program['language'],
      code: string,
      limits: Partial<RequestedLimits>,
    ): Promise<Collection & { held: HeldLimits; stdout: string }> {
      await using cell = await provider.prepare({ language, runtime: null });
      const program = { language, code, stdin: null, args: [], env: {}, files: [], outputs: [] };
      const loaded = await cell.handOver({ ...program, limits: { ...LIMIT_DEFAULTS, ...PATIENT, ...limits } });
      let stdout = '';
      const running = loaded.release((_stream, records) => {
        for (const record of records) stdout += outputText(record);
      });
      return { ...(await running.collect()), stdout, held: loaded.held };
    }

    /** The smallest process limit that a waiting cell can have. */
    async function leastPids(language: Program['language']): Promise<number> {
      const { held } = await run(language, '', { max_pids: 1 });
      return held.effective_limits.max_pids as number;
    }

    slowTest('Node gets as many processes as it has threads, even if the submission asked for fewer', async () => {
      const least = await leastPids('node');
      expect(least).toBeGreaterThan(1);
      for (const max_pids of [1, least - 1, least, least + 1]) {
        const inForce = Math.max(least, max_pids);
        const { held, stdout, violations } = await run('node', CHILDREN.node, { max_pids });
        expect(held.effective_limits.max_pids).toBe(inForce);
        expect(held.limit_enforcement.max_pids).toBe(true);
        const [threads = 0, made = 0] = stdout.trim().split(' ').map(Number);
        expect(threads + made).toBeLessThanOrEqual(inForce);
        // gVisor counts no refused process.
        const told = name === 'gVisor' ? [] : [{ type: 'pids', limit: inForce }];
        expect(violations.map(({ type, limit }) => ({ type, limit }))).toEqual(told);
      }
    });

    it.each(['python', 'bash'] as const)('a limit of one process suffices for %s', async (language) => {
      expect(await leastPids(language)).toBe(1);
    });

    slowTest.each(['python', 'node', 'bash'] as const)(
      '%s gets at least the memory of its waiting interpreter, and never uses more than its limit in force',
      async (language) => {
        const { held } = await run(language, '', { mem_mb: 1 });
        const least = held.effective_limits.mem_mb as number;
        expect(Number.isInteger(least)).toBe(true);
        // The number of pages in use differs from one waiting cell to the next.
        for (const mem_mb of [1, least - 1, least, least + 1, least + 2].filter((mib) => mib > 0)) {
          const ran = await run(language, '', { mem_mb });
          const inForce = ran.held.effective_limits.mem_mb as number;
          expect(ran.held.limit_enforcement.mem_mb).toBe(true);
          expect(inForce).toBeGreaterThanOrEqual(mem_mb);
          expect(inForce).toBeLessThanOrEqual(Math.max(mem_mb, least + 2));
          expect(ran.usage.memory_peak_bytes).toBeLessThanOrEqual(inForce * MIB);
          const told = ran.violations.filter(({ type }) => type === 'memory');
          expect(told).toEqual(told.map((violation) => ({ ...violation, limit: inForce })));
          expect(['exited', 'memory_limit', 'signaled']).toContain(ran.ending.kind);
        }
      },
    );

    it('the other limits are enforced at their smallest values, too', async () => {
      const smallest = { wall_seconds: 0.001, cpu_seconds: 0.001, max_file_mb: 1 };
      const { held } = await run('bash', '', smallest);
      expect(held.effective_limits).toMatchObject(smallest);
    });
  },
);
