/** A program runs when it is released, and not when whoever would release it is gone. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';

const launcher = (name: string) => join(import.meta.dirname, name);
const LAUNCHERS: readonly (readonly [string, readonly string[]])[] = [
  ['bash', ['/bin/bash', '--norc', '--noprofile', launcher('launch.sh')]],
  ['python', ['/usr/bin/python3', '-I', '-u', launcher('launch.py')]],
  ['node', [process.execPath, '--max-heap-size=160', launcher('launch.cjs')]],
];
const NODE = LAUNCHERS[2]?.[1] as readonly string[];
const HEAP = 'console.log(require("node:v8").getHeapStatistics().heap_size_limit / 2 ** 20)\n';

/** Launchers rename it: it is written for each of them. */
const NODE_SOURCE = 'console.log("ran")\n';

let work: string;
beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), 'svc-launchers-'));
  writeFileSync(join(work, 'main.sh'), 'echo ran\n');
  writeFileSync(join(work, 'main.py'), 'print("ran")\n');
});
afterAll(() => rmSync(work, { recursive: true }));

/** What a launcher's program wrote, which was told this and then that nothing more comes. */
async function wrote([file = '', ...words]: readonly string[], told: string, node = NODE_SOURCE): Promise<string> {
  writeFileSync(join(work, 'main.js'), node);
  const child = spawn(file, words, { cwd: work, stdio: ['ignore', 'pipe', 'ignore', 'pipe', 'pipe'] });
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  (child.stdio[3] as Writable).end(told);
  await once(child, 'close');
  return text;
}

test.each(LAUNCHERS)('the program of %s runs when it is released', async (_, command) => {
  expect(await wrote(command, '160\n')).toBe('ran\n');
});

test.each(LAUNCHERS)('the program of %s does not run where its release never comes', async (_, command) => {
  expect(await wrote(command, '')).toBe('');
});

test.each([160, 40, 700])('a Node program has the heap that its release names: %i MiB', async (heap) => {
  expect(await wrote(NODE, `${heap}\n`, HEAP)).toBe(`${heap}\n`);
});
