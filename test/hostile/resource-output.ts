/** Attacks that exhaust a service with a program's output. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { recordBytesMax, streamBytesMax, streamRecordsMax } from '@vouchbox/protocol';
import type { HostileCase } from './hostile-case.ts';
import { assertExited } from './seen.ts';
import { sizeFor } from './size.ts';

const MIB = 1024 * 1024;

export const outputCases: readonly HostileCase[] = [
  {
    id: 'RES-09',
    title: 'of a flood 1 MiB is recorded, every byte is counted and hashed, and the service does not grow',
    holds: 'output is drained, counted and dropped beyond its cap; nothing waits',
    alone: true,
    async scenario(target) {
      globalThis.gc?.();
      const before = process.memoryUsage.rss();
      const floods = Array.from({ length: 4 }, () => ({ program: 'stdout-flood.py', values: { SECONDS: 2 } }));
      let peak = before;
      const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 20);
      const all = await target.attackAll(floods).finally(() => clearInterval(watch));
      for (const { ending, output, stdout, stderr, recordCounts } of all) {
        assert.deepEqual(ending, { kind: 'exited', exit_code: 0 });
        const written = Number(stderr);
        assert.ok(written > 16 * MIB, `only ${written} bytes were written`);
        assert.equal(output.stdout.bytes_seen, written);
        assert.equal(output.stdout.raw_sha256, hashOfLetters(written));
        assert.equal(Buffer.byteLength(stdout), streamBytesMax);
        assert.equal(recordCounts.stdout, streamBytesMax / recordBytesMax);
        assert.equal(output.stdout.executor_truncated, true);
      }
      assert.ok(peak - before < 160 * MIB, `grew by ${Math.round((peak - before) / MIB)} MiB`);
    },
  },
  {
    id: 'RES-10',
    title: 'of a hundred thousand lines of one byte, ten thousand are recorded on each stream',
    holds: 'a cap on records in addition to the cap on bytes',
    attack: { program: 'line-flood.py' },
    expect(seen) {
      assertExited(seen);
      assert.deepEqual(seen.recordCounts, { stdout: streamRecordsMax, stderr: streamRecordsMax });
      assert.deepEqual([seen.stdout.length, seen.stderr.length], [2 * streamRecordsMax, 2 * streamRecordsMax]);
      assert.deepEqual([seen.output.stdout.bytes_seen, seen.output.stderr.bytes_seen], [200_000, 200_000]);
      assert.deepEqual([seen.output.stdout.executor_truncated, seen.output.stderr.executor_truncated], [true, true]);
    },
  },
  {
    id: 'RES-28',
    title: 'no byte that a program writes just before its end is lost, in each of many runs',
    holds: 'both streams are read to their end before a result is made',
    alone: true,
    async scenario(target) {
      const expected = { stdout: `${'o'.repeat(61_439)}\n`, stderr: `${'e'.repeat(61_439)}\n` };
      let left = sizeFor(target.hostileClass, BURSTS);
      const burst = async () => {
        while (left-- > 0) {
          const { stdout, stderr } = await target.attack({ program: 'burst.py' });
          assert.deepEqual(
            { stdout: stdout === expected.stdout, stderr: stderr === expected.stderr },
            { stdout: true, stderr: true },
          );
        }
      };
      await Promise.all(Array.from({ length: 4 }, burst));
    },
  },
  {
    id: 'RES-28',
    title: 'no byte that a program writes at once is lost, however much larger it is than a pipe',
    holds: 'a partly accepted write is continued; if the kernel cuts writes, the pipes have room for what is recorded',
    attack: { program: 'large-writes.py' },
    expect(seen) {
      assertExited(seen);
      assert.ok(seen.stdout === `${'o'.repeat(599_999)}\n${'c'.repeat(399_999)}\n`, `${seen.stdout.length} characters`);
      assert.ok(seen.stderr === 'e'.repeat(streamBytesMax), `${seen.stderr.length} characters`);
      assert.deepEqual([seen.output.stderr.bytes_seen, seen.output.stderr.executor_truncated], [10_000_000, true]);
    },
  },
];

/** How many programs write a burst of output just before their end. */
const BURSTS = { namespace: 60, gvisor: 20, full: 1000 } as const;

function hashOfLetters(count: number): string {
  const hash = createHash('sha256');
  const block = Buffer.alloc(MIB, 'A');
  for (let left = count; left > 0; left -= block.byteLength)
    hash.update(block.subarray(0, Math.min(left, block.byteLength)));
  return hash.digest('hex');
}
