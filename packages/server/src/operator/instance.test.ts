import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openInstance, readInstance } from './instance.ts';

const scratch = mkdtempSync(join(tmpdir(), 'svc-instance-'));
afterAll(() => rmSync(scratch, { recursive: true }));

function directory(name: string): string {
  const path = join(scratch, name);
  mkdirSync(path);
  return path;
}

describe('the instance of a data directory', () => {
  test('is made once, is readable only by its owner, and stays the same if the directory is moved', () => {
    const path = directory('first');
    expect(readInstance(path)).toBeNull();
    const instance = openInstance(path);
    instance[Symbol.dispose]();
    expect(statSync(join(path, 'instance-id')).mode & 0o777).toBe(0o600);
    renameSync(path, join(scratch, 'moved'));
    expect(readInstance(join(scratch, 'moved'))).toBe(instance.id);
  });

  test('is different in a copy of the directory, and in a new directory at the same path', () => {
    const path = directory('same');
    using original = openInstance(path);
    cpSync(path, join(scratch, 'copy'), { recursive: true });
    using copy = openInstance(join(scratch, 'copy'));
    expect(copy.id).not.toBe(original.id);
    renameSync(path, join(scratch, 'elsewhere'));
    using other = openInstance(directory('same'));
    expect(other.id).not.toBe(original.id);
  });

  test.runIf(process.geteuid?.() === 0)('is held by one service on the host at a time', () => {
    const path = directory('held');
    const first = openInstance(path);
    const said = `a service with the data of ${path} runs on this host already, as process ${process.pid}`;
    expect(() => openInstance(path)).toThrow(said);
    first[Symbol.dispose]();
    openInstance(path)[Symbol.dispose]();
  });

  test('is refused if the file has no id that a service wrote', () => {
    const path = directory('spoiled');
    writeFileSync(join(path, 'instance-id'), '../../etc\n');
    expect(() => openInstance(path)).toThrow('was not written by a service');
  });
});
