/** A program runs when it is released, and does not run if the releasing process is gone. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';

const launcher = (name: string) => join(import.meta.dirname, name);
const LAUNCHERS: readonly (readonly [string, readonly string[]])[] = [
  ['bash', ['/bin/bash', '--norc', '--noprofile', launcher('launch.sh'), '/bin/bash', '{work}/main.sh']],
  ['python', ['/usr/bin/python3', '-I', '-u', launcher('launch.py')]],
  ['node', [process.execPath, '--max-heap-size=160', launcher('launch.cjs'), 'main.js']],
];
const NODE = LAUNCHERS[2]?.[1] as readonly string[];
const HEAP = 'console.log(require("node:v8").getHeapStatistics().heap_size_limit / 2 ** 20)\n';

/** Each launcher renames this file, so it is written again before each start. */
const NODE_SOURCE = 'console.log("ran")\n';

let work: string;
beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), 'svc-launchers-'));
  writeFileSync(join(work, 'main.sh'), 'echo ran\n');
  writeFileSync(join(work, 'main.py'), 'print("ran")\n');
});
afterAll(() => rmSync(work, { recursive: true }));

/** The output of a launcher's program. `told` is everything that is sent to the launcher. */
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
  expect(await wrote(command, '160 0\n')).toBe('ran\n');
});

test.each(LAUNCHERS)('the program of %s does not run without its release', async (_, command) => {
  expect(await wrote(command, '')).toBe('');
});

test.each([160, 40, 700])('a Node program has the heap that its release names: %i MiB', async (heap) => {
  expect(await wrote(NODE, `${heap} 0\n`, HEAP)).toBe(`${heap}\n`);
});

const SHOWS: Readonly<Record<string, string>> = {
  'main.sh': 'printf "%s|" "$#" "$@" "$A" "$B"\n',
  'main.py':
    'import os, sys\nprint(len(sys.argv) - 1, *sys.argv[1:], os.environ["A"], os.environ["B"], sep="|", end="|")\n',
};
const NODE_SHOWS =
  'const { argv, env } = process; console.log([argv.length - 2, ...argv.slice(2), env.A, env.B, ""].join("|"));';

test.each(LAUNCHERS)(
  'the program of %s gets the arguments and variables of its release, byte for byte',
  async (_, command) => {
    for (const [name, source] of Object.entries(SHOWS)) writeFileSync(join(work, name), source);
    const words = ['', 'two words\n', '-é"$x', 'A=1=2', 'B='];
    const told = `160 3\n${words.map((word) => `${word}\0`).join('')}`;
    expect((await wrote(command, told, NODE_SHOWS)).trimEnd()).toBe('3||two words\n|-é"$x|1=2||');
  },
);
