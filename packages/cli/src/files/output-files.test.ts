import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CommandFailure } from '../failures/command-failure.ts';
import { writeOutputs, writeTarget } from './output-files.ts';

test('each output is written to the path that its option names, and a missing output is reported', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-cli-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const artifact = { size_bytes: 2, sha256: '', content_base64: '/wA=' };
  const { missing } = await writeOutputs(
    [
      { path: 'output/a', target: join(directory, 'new/a') },
      { path: 'output/b', target: join(directory, 'b') },
    ],
    [
      { ...artifact, path: 'output/a' },
      { ...artifact, path: join(directory, 'uninvited') },
    ],
  );
  expect(readFileSync(join(directory, 'new/a'))).toEqual(Buffer.from([0xff, 0]));
  expect(missing.map(({ path }) => path)).toEqual(['output/b']);
  expect(existsSync(join(directory, 'uninvited'))).toBe(false);
});

test('a matched output is written below the directory of its pattern, unless its path leads out or an option names it', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-cli-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const artifact = { size_bytes: 2, sha256: '', content_base64: '/wA=' };
  const paths = ['output/a', 'output/deep/b', 'output/../escaped', 'elsewhere'];
  const { missing } = await writeOutputs(
    [
      { path: 'output/a', target: join(directory, 'named') },
      { path: 'output/**', target: join(directory, 'all') },
      { path: 'output/empty/**', target: join(directory, 'empty') },
    ],
    paths.map((path) => ({ ...artifact, path })),
  );
  expect(missing.map(({ path }) => path)).toEqual(['output/empty/**']);
  expect(readdirSync(directory, { recursive: true, encoding: 'utf8' }).toSorted()).toEqual([
    'all',
    'all/deep',
    'all/deep/b',
    'named',
  ]);
});

test.runIf(process.platform === 'linux').each([
  ['no directory can be made', '/proc/1/none/such/a', 'ENOENT'],
  ['the disk is full', '/dev/full', 'ENOSPC'],
])('writing an output fails with an error that names its file if %s', async (_, target, code) => {
  const artifact = { path: 'output/a', size_bytes: 2, sha256: '', content_base64: '/wA=' };
  const written = writeOutputs([{ path: 'output/a', target }], [artifact]);
  await expect(written).rejects.toThrow(CommandFailure);
  await expect(written).rejects.toThrow(`${target} cannot be written: ${code}`);
});

test.runIf(process.platform === 'linux')(
  'a device that refuses a file stays, but what a broken download wrote is removed',
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'svc-cli-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const target = join(directory, 'part');
    const link = join(directory, 'link');
    symlinkSync(target, link);
    async function* broken() {
      yield 'a part';
      throw new Error('the rest was lost');
    }
    await expect(writeTarget('/dev/full', 'some text')).rejects.toThrow('ENOSPC');
    for (const name of [target, link]) await expect(writeTarget(name, broken())).rejects.toThrow('the rest was lost');
    expect(existsSync('/dev/full')).toBe(true);
    expect(readdirSync(directory)).toEqual(['link']);
  },
);
