/** Outputs requested without their names, from directories such as a hostile program would leave. */
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileBytesMax, filesMax } from '@vouchbox/protocol';
import { expect, onTestFinished, test } from 'vitest';
import { Workspace } from './workspace.ts';

/** Collects `outputs` once `leave` has written files below `output/`. Returns what comes back. */
function collect(outputs: readonly string[], leave: (output: string) => void) {
  const work = mkdtempSync(join(tmpdir(), 'svc-outputs-'));
  onTestFinished(() => rmSync(work, { recursive: true }));
  const output = join(work, 'output');
  mkdirSync(output);
  leave(output);
  using workspace = new Workspace(work, 'own');
  const { artifacts, violations } = workspace.collect(outputs);
  return { paths: artifacts.map(({ path }) => path), violations };
}

const write = (...path: string[]) => writeFileSync(join(...path), path.at(-1) ?? '');

test('every regular file below a directory comes back, in the order of the bytes of the paths', {
  tags: ['Submission-46'],
}, () => {
  const { paths, violations } = collect(['output/**'], (output) => {
    mkdirSync(join(output, 'b/empty'), { recursive: true });
    for (const name of ['é', 'b/z', 'b/a', 'Z', 'a', '.hidden', 'b.txt']) write(output, name);
  });
  const inOrder = ['.hidden', 'Z', 'a', 'b.txt', 'b/a', 'b/z', 'é'].map((name) => `output/${name}`);
  expect(paths).toEqual(inOrder);
  expect(violations).toEqual([]);
});

test('a file that matches several patterns is collected once, and files with exact names come first', () => {
  const leave = (output: string) => {
    mkdirSync(join(output, 'b'));
    for (const name of ['a', 'b/c', 'd']) write(output, name);
  };
  expect(collect(['output/**', 'output/b/**', 'output/d'], leave).paths).toEqual([
    'output/d',
    'output/a',
    'output/b/c',
  ]);
  expect(collect(['output/b/**'], leave).paths).toEqual(['output/b/c']);
});

test('links are violations and are not followed, and a file with two names is collected under both', () => {
  const { paths, violations } = collect(['output/**', 'output/b/**'], (output) => {
    symlinkSync('/etc', join(output, 'b'));
    symlinkSync('/etc/passwd', join(output, 'c'));
    write(output, 'd');
    linkSync(join(output, 'd'), join(output, 'e'));
    write(output, 'f');
  });
  expect(paths).toEqual(['output/d', 'output/e', 'output/f']);
  expect(violations.map(({ type, path }) => `${type} ${path}`)).toEqual([
    'output_path output/b',
    'output_path output/c',
    'output_path output/b',
  ]);
});

test.each([filesMax, filesMax + 1, filesMax + 20])(
  'if a program leaves %i files, files up to the bound are collected, and the rest is one violation',
  (count) => {
    const { paths, violations } = collect(['output/**'], (output) => {
      for (let number = 0; number < count; number++) write(output, String(number).padStart(3, '0'));
    });
    expect(paths).toHaveLength(filesMax);
    const left = { type: 'output_count', path: 'output/**', limit: filesMax, observed: count };
    expect(violations).toMatchObject(count === filesMax ? [] : [left]);
  },
);

test('a file that is too large is a violation, and the files after it are still collected', () => {
  const { paths, violations } = collect(['output/**'], (output) => {
    writeFileSync(join(output, 'a'), Buffer.alloc(fileBytesMax + 1, 'x'));
    write(output, 'b');
  });
  expect(paths).toEqual(['output/b']);
  expect(violations).toMatchObject([{ type: 'output_size', path: 'output/a', observed: fileBytesMax + 1 }]);
});

test('forbidden names of one kind make one violation, with their count and without control characters', () => {
  const { paths, violations } = collect(['output/**'], (output) => {
    for (const name of ['a \nb', 'c d\n', 'e\ng', 'e\\f', 'good']) write(output, name);
    writeFileSync(Buffer.concat([Buffer.from(`${output}/`), Buffer.from([0xff])]), '');
  });
  expect(paths).toEqual(['output/good']);
  const kinds = violations.map(({ type, message }) => `${type} ${/(has a name|holds).*$/.exec(message)?.[0]}`);
  expect(kinds.sort()).toEqual([
    'output_path has a name that is not UTF-8',
    'output_path holds a backslash',
    'output_path holds a control character, and 2 more like it did not come back',
  ]);
  expect(violations.every(({ message }) => !message.includes('\n'))).toBe(true);
});

test('the files of a directory with a forbidden name are counted, and the first is shown', () => {
  const { paths, violations } = collect(['output/**'], (output) => {
    for (const name of ['z\\', 'a\\/deep', 'empty\\']) mkdirSync(join(output, name), { recursive: true });
    for (const name of ['z\\/1', 'z\\/2', 'a\\/deep/3', 'good']) write(output, name);
    const unreadable = Buffer.concat([Buffer.from(`${output}/`), Buffer.from([0xff])]);
    mkdirSync(unreadable);
    writeFileSync(Buffer.concat([unreadable, Buffer.from('/4')]), '');
  });
  expect(paths).toEqual(['output/good']);
  expect(violations.map(({ message }) => message).sort()).toEqual([
    'output/a\\\\/deep/3 holds a backslash, and 2 more like it did not come back',
    'output/\ufffd/4 has a name that is not UTF-8',
  ]);
});

test('a tree that is too deep is collected down to the bound, and reported as too deep', () => {
  const { paths, violations } = collect(['output/**'], (output) => {
    mkdirSync(join(output, 'd/'.repeat(40)), { recursive: true });
    write(output, 'd/d/shallow');
    write(output, `${'d/'.repeat(40)}deep`);
  });
  expect(paths).toEqual(['output/d/d/shallow']);
  expect(violations).toMatchObject([{ type: 'output_path', path: 'output/**', limit: 32 }]);
});

test('a missing directory is a violation, and so is a file in place of the directory', () => {
  const { violations } = collect(['output/a/**', 'output/b/**'], (output) => write(output, 'b'));
  expect(violations.map(({ type, path }) => `${type} ${path}`)).toEqual([
    'output_missing output/a',
    'output_path output/b',
  ]);
});
