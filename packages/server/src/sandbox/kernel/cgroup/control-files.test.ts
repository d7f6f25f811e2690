import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { makeDirectories } from './control-files.ts';

it('if one directory of a control group cannot be made, none is left', () => {
  const root = mkdtempSync(join(tmpdir(), 'svc-control-files-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const [first, second, third] = ['a', 'b', 'c'].map((name) => join(root, name)) as [string, string, string];
  mkdirSync(second);
  expect(() => makeDirectories([first, second, third])).toThrow(/EEXIST/);
  expect(readdirSync(root)).toEqual(['b']);
  makeDirectories([first, third]);
  expect(readdirSync(root)).toEqual(['a', 'b', 'c']);
});
