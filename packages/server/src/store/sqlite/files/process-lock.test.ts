import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { ProcessLock } from './process-lock.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-process-lock-'));
afterAll(() => rmSync(directory, { recursive: true }));

const LOCK = fileURLToPath(new URL('./process-lock.ts', import.meta.url));

test('a lock file is held only once, readable only by its owner, and removed when it is released', () => {
  const path = join(directory, 'once');
  const first = ProcessLock.take(path);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(directory)).toEqual(['once']);
  expect(ProcessLock.take(path)).toBeNull();
  first?.[Symbol.dispose]();
  expect(existsSync(path)).toBe(false);
  const second = ProcessLock.take(path);
  expect(second).not.toBeNull();
  second?.[Symbol.dispose]();
});

test('a process that takes its own lock a second time does not release the lock', () => {
  const path = join(directory, 'again');
  using first = ProcessLock.take(path);
  expect([first === null, ProcessLock.take(path)]).toEqual([false, null]);
  const source = `
    const { ProcessLock } = await import(${JSON.stringify(LOCK)});
    process.stdout.write(ProcessLock.take(${JSON.stringify(path)}) === null ? 'refused' : 'held');`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', source], { encoding: 'utf8' });
  expect(stdout).toBe('refused');
});

test('a killed process releases its lock', async () => {
  const path = join(directory, 'killed');
  const source = `
    const { ProcessLock } = await import(${JSON.stringify(LOCK)});
    process.stdout.write(ProcessLock.take(${JSON.stringify(path)}) === null ? 'refused' : 'held');
    setInterval(() => {}, 1000);`;
  const holder = spawn(process.execPath, ['--input-type=module', '--eval', source]);
  const [said] = (await once(holder.stdout, 'data')) as [Buffer];
  expect(said.toString()).toBe('held');
  expect(ProcessLock.take(path)).toBeNull();
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  const lock = ProcessLock.take(path);
  expect(lock).not.toBeNull();
  lock?.[Symbol.dispose]();
});
