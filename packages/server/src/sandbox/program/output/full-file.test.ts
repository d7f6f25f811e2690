import { closeSync, constants, mkdirSync, mkdtempSync, openSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { holdsFileOf } from './full-file.ts';

const LIMIT = 4096;

describe('the search for a file as large as its limit', () => {
  let path: string;
  let directory: number;

  beforeEach(() => {
    path = mkdtempSync(join(tmpdir(), 'svc-full-file-'));
    directory = openSync(path, constants.O_DIRECTORY);
  });
  afterEach(() => {
    closeSync(directory);
    rmSync(path, { recursive: true });
  });

  const write = (name: string | Buffer, bytes: number) =>
    writeFileSync(Buffer.concat([Buffer.from(`${path}/`), Buffer.from(name)]), Buffer.alloc(bytes, 'x'));

  it.each([
    [LIMIT - 1, false],
    [LIMIT, true],
    [LIMIT + 1, false],
  ])('finds only a file exactly as large as the limit: a file of %d bytes is found: %s', (bytes, found) => {
    write('a', bytes);
    expect(holdsFileOf(directory, LIMIT, ['input', 'main.py'])).toBe(found);
  });

  it('finds a file in a subdirectory, whatever its name', () => {
    mkdirSync(join(path, 'output/deep'), { recursive: true });
    write(Buffer.from('output/deep/\xff', 'latin1'), LIMIT);
    expect(holdsFileOf(directory, LIMIT, ['input', 'main.py'])).toBe(true);
  });

  it('ignores the files of the service, and everything behind a link', () => {
    mkdirSync(join(path, 'input'));
    mkdirSync(join(path, 'output'));
    write('input/a', LIMIT);
    write('main.py', LIMIT);
    symlinkSync(join(path, 'input/a'), join(path, 'link'));
    symlinkSync(join(path, 'input'), join(path, 'output/link'));
    expect(holdsFileOf(directory, LIMIT, ['input', 'main.py'])).toBe(false);
  });

  it('finds a file in a subdirectory even if the file has the name of an ignored one', () => {
    mkdirSync(join(path, 'output'));
    write('output/main.py', LIMIT);
    expect(holdsFileOf(directory, LIMIT, ['input', 'main.py'])).toBe(true);
  });

  it('has a bounded depth', () => {
    const chain = (length: number) => Array.from({ length }, () => 'd').join('/');
    mkdirSync(join(path, chain(32)), { recursive: true });
    write(`${chain(32)}/a`, LIMIT);
    expect(holdsFileOf(directory, LIMIT, ['input', 'main.py'])).toBe(false);
    write(`${chain(31)}/a`, LIMIT);
    expect(holdsFileOf(directory, LIMIT, ['input', 'main.py'])).toBe(true);
  });
});
