/** What the sources must not contain: invariants that imports do not show. docs/ARCHITECTURE.md. */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const sources = globSync('packages/*/src/**/*.ts', { cwd: root })
  .filter((file) => !/\.(test|fixture)\.ts$/.test(file))
  .map((file) => ({ file, text: withoutComments(readFileSync(join(root, file), 'utf8')) }));

/** Removes comments, because a comment may mention what the code must not do. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}

function filesWith(pattern: RegExp): string[] {
  return sources.filter(({ text }) => pattern.test(text)).map(({ file }) => file);
}

describe('the sources', () => {
  test('were read', () => {
    expect(sources.length).toBeGreaterThan(20);
  });

  test('read process.env only in one file of the server and one file of the command line', () => {
    const allowed = ['packages/cli/src/service/environment.ts', 'packages/server/src/settings/config.ts'];
    // This file does not read the environment: its text is a program that the page writes for a person to copy.
    allowed.push('packages/dashboard/src/words/snippets.ts');
    expect(filesWith(/\bprocess\.env\b/).filter((file) => !allowed.includes(file))).toEqual([]);
  });

  test('print only in packages/cli', () => {
    const printing = filesWith(/\bconsole\.\w+\(|\bprocess\.(stdout|stderr)\.write\b/);
    expect(printing.filter((file) => !file.startsWith('packages/cli/'))).toEqual([]);
  });

  test('end the process only in packages/cli', () => {
    const ending = filesWith(/\bprocess\.(exit\(|exitCode\s*=|abort\()/);
    expect(ending.filter((file) => !file.startsWith('packages/cli/'))).toEqual([]);
  });

  test('have named exports and no default export', () => {
    expect(filesWith(/^export default\b/m)).toEqual([]);
  });

  test('have names in kebab-case that say more than utils, helpers, common, types, constants or misc', () => {
    const names = sources.map(({ file }) => basename(file, '.ts'));
    expect(names.filter((name) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name))).toEqual([]);
    expect(names.filter((name) => /^(utils?|helpers?|common|types|constants|misc)$/.test(name))).toEqual([]);
  });
});
