import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { Watch } from './watch.ts';
import { WatchingThread } from './watching-thread.ts';

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** A program in a process group of its own, watched by this thread. */
function watched(thread: WatchingThread, wallSeconds: number) {
  const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
  children.push(child);
  const id = child.pid as number;
  return { child, watch: new Watch({ watched: { kind: 'process_group', id }, wallSeconds, cpu: null }, thread) };
}

function isDead({ pid }: ChildProcess): boolean {
  return /^\d+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
}

test('the watching thread runs while it watches a program, and ends after the last one', async () => {
  const thread = new WatchingThread(0);
  const { watch: first } = watched(thread, 600);
  const { watch: second } = watched(thread, 600);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(thread.isRunning).toBe(true);
  second[Symbol.dispose]();
  await expect.poll(() => thread.isRunning).toBe(false);
});

test('a program that starts after the watching thread has ended is killed at its limit even if the main thread is blocked', async () => {
  const thread = new WatchingThread(0);
  watched(thread, 600).watch[Symbol.dispose]();
  await expect.poll(() => thread.isRunning).toBe(false);
  const { child, watch } = watched(thread, 0.1);
  using _ = watch;
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  for (let looks = 0; !isDead(child) && looks < 2000; looks++) Atomics.wait(nothing, 0, 0, 10);
  expect(watch.breach).toBe('wall_limit');
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
});
