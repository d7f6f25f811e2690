import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LIMIT_DEFAULTS } from '@vouchbox/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Collection } from '../../sandbox.ts';
import type { Candidate } from '../candidate.ts';
import { openGvisorCellsOn } from '../open-cells.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-ending-test-'));
let cells: Candidate;

beforeAll(async () => {
  const options = { instance: directory, packsDirectory: null, workBytes: 2 ** 20, hostPostureSha256: null };
  cells = await openGvisorCellsOn({ choice: 'gvisor', ...options }, { platform: 'systrap', starter: 'direct' });
});
afterAll(async () => {
  await cells[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

async function run(code: string): Promise<Collection & { readonly stdout: string }> {
  await using cell = await cells.prepare({ language: 'python', runtime: null });
  const program = {
    language: 'python',
    code,
    stdin: null,
    args: [],
    env: {},
    files: [],
    outputs: ['output/kept'],
  } as const;
  const loaded = await cell.handOver({
    ...program,
    limits: { ...LIMIT_DEFAULTS, wall_seconds: 60, cpu_seconds: 30 },
  });
  let stdout = '';
  const running = loaded.release((_, records) => {
    for (const { text } of records) stdout += `${text}\n`;
  });
  return { ...(await running.collect()), stdout };
}

test('a program of a gVisor cell has its three streams and no other open file', async () => {
  const { stdout } = await run(`
import os
for name in range(256):
    try:
        os.fstat(name)
        print(name)
    except OSError:
        pass
`);
  expect(stdout).toBe('0\n1\n2\n');
});

test('a program of a gVisor cell cannot report an end in place of process 1', async () => {
  const { stdout, ending } = await run(`
import os
for path in ['/svc/report/ending', *('/proc/1/fd/%d' % number for number in range(3, 256))]:
    try:
        os.write(os.open(path, os.O_WRONLY), b'exited 0'.ljust(63) + b'\\n')
        print(path)
    except OSError:
        pass
os._exit(9)
`);
  expect([stdout, ending]).toEqual(['', { kind: 'exited', exit_code: 9 }]);
});

test('the last output of a program of a gVisor cell is kept, whether it is in a pipe or in mapped memory', async () => {
  const { stdout, artifacts } = await run(`
import mmap, os, signal
with open('output/kept', 'w+b') as file:
    file.truncate(3 * 4096)
    mapped = mmap.mmap(file.fileno(), 3 * 4096)
    for at in range(3):
        mapped[4096 * at] = 65 + at
os.write(1, (b'x' * 99 + b'\\n') * 500)
os.kill(os.getpid(), signal.SIGKILL)
`);
  const content = Buffer.from(artifacts[0]?.content ?? []);
  expect([content.length, [0, 1, 2].map((at) => content.toString('latin1', 4096 * at, 4096 * at + 1))]).toEqual([
    3 * 4096,
    ['A', 'B', 'C'],
  ]);
  expect(stdout.length).toBe(50_000);
});
