import { createHash } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { digestOf, versionOf } from './executable.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-executable-'));
afterAll(() => rmSync(directory, { recursive: true }));

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

describe('the digest of an executable', () => {
  const remembered = join(directory, 'remembered', 'executables.json');

  test('is computed from its content, every time', () => {
    const path = join(directory, 'same');
    writeFileSync(path, 'one');
    expect([digestOf(path, remembered), digestOf(path, remembered)]).toEqual([sha256('one'), sha256('one')]);
  });

  test('changes if the file was changed, even with the same size and with its times set back', () => {
    const path = join(directory, 'changed');
    writeFileSync(path, 'one');
    utimesSync(path, 1, 1);
    digestOf(path, remembered);
    writeFileSync(path, 'two');
    utimesSync(path, 1, 1);
    expect(digestOf(path, remembered)).toBe(sha256('two'));
  });

  test('is computed again if the file of remembered digests is damaged', () => {
    const path = join(directory, 'again');
    writeFileSync(path, 'one');
    digestOf(path, remembered);
    writeFileSync(remembered, '{');
    expect(digestOf(path, remembered)).toBe(sha256('one'));
  });

  test('is computed even if no digest can be remembered', () => {
    const path = join(directory, 'forgotten');
    writeFileSync(path, 'one');
    expect(digestOf(path, join(path, 'below-a-file'))).toBe(sha256('one'));
  });
});

describe('the version of an executable', () => {
  const path = join(directory, 'says');
  const remembered = join(directory, 'remembered', 'versions.json');
  const write = (script: string) => {
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
  };

  test('is read again only when the file was changed', async () => {
    write(`echo "says version $(cat ${directory}/number)"`);
    writeFileSync(join(directory, 'number'), '1');
    expect(await versionOf(path, /version (\S+)/, remembered)).toBe('1');
    writeFileSync(join(directory, 'number'), '2');
    expect(await versionOf(path, /version (\S+)/, remembered)).toBe('1');
    write('echo version 3');
    expect(await versionOf(path, /version (\S+)/, remembered)).toBe('3');
  });

  test('is remembered for the next process of the same boot', async () => {
    write(`echo x >> ${directory}/asked; echo version 5`);
    expect(await versionOf(path, /version (\S+)/, remembered)).toBe('5');
    vi.resetModules();
    const next = await import('./executable.ts');
    expect(await next.versionOf(path, /version (\S+)/, remembered)).toBe('5');
    expect(readFileSync(join(directory, 'asked'), 'utf8')).toBe('x\n');
  });

  test('is null if the program prints none, and a failed call is not remembered', async () => {
    write('echo nothing');
    expect(await versionOf(path, /version (\S+)/, remembered)).toBeNull();
    write(`[ -e ${directory}/ready ] && echo version 4`);
    await expect(versionOf(path, /version (\S+)/, remembered)).rejects.toThrow('Command failed');
    writeFileSync(join(directory, 'ready'), '');
    expect(await versionOf(path, /version (\S+)/, remembered)).toBe('4');
  });
});
