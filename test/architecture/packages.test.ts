/** What package.json files and the lock must contain, so that a fresh clone installs the same everywhere. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { filesOfForm, ONLY_LONG, TEST_FILES } from '../../tools/test-forms.ts';

interface Manifest {
  readonly dependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
}
interface Lock {
  readonly packages: Record<string, Manifest & { readonly version?: string; readonly resolved?: string }>;
}

const root = join(import.meta.dirname, '../..');
const parse = <T>(file: string) => JSON.parse(readFileSync(join(root, file), 'utf8')) as T;
const lock = parse<Lock>('package-lock.json');
const manifests = ['package.json', ...globSync('packages/*/package.json', { cwd: root })];

describe('package-lock.json', () => {
  /** Whether the package at `from` finds `name`. Node looks in each enclosing node_modules, nearest first. */
  function isFound(from: string, name: string): boolean {
    for (let at = from; ; at = at.includes('/node_modules/') ? at.slice(0, at.lastIndexOf('/node_modules/')) : '') {
      if (lock.packages[`${at === '' ? '' : `${at}/`}node_modules/${name}`] !== undefined) return true;
      if (at === '') return false;
    }
  }

  test('has every package that another package needs, even on other platforms, so npm ci accepts the lock', () => {
    const missing = Object.entries(lock.packages).flatMap(([path, { dependencies = {}, optionalDependencies = {} }]) =>
      Object.keys({ ...dependencies, ...optionalDependencies })
        .filter((name) => !isFound(path, name))
        .map((name) => `${name}, needed by ${path}`),
    );
    expect(missing).toEqual([]);
  });

  test('names no registry, so that each machine uses its own', () => {
    const named = Object.entries(lock.packages).filter(([, { resolved }]) => /^[a-z]+:/.test(resolved ?? ''));
    expect(named.map(([path]) => path)).toEqual([]);
  });
});

test.each(manifests)('%s pins every version exactly, as in the lock', (file) => {
  const { dependencies, devDependencies, optionalDependencies } = parse<Manifest>(file);
  const wanted = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies });
  const loose = wanted.filter(([, version]) => !/^(npm:@?[\w./-]+@)?\d+\.\d+\.\d+[\w.-]*$/.test(version));
  expect(loose).toEqual([]);
  const locked = lock.packages[file === 'package.json' ? '' : file.replace('/package.json', '')];
  expect({ ...locked?.dependencies, ...locked?.devDependencies, ...locked?.optionalDependencies }).toEqual(
    Object.fromEntries(wanted),
  );
});

test.each(manifests.filter((file) => file !== 'package.json'))(
  '%s names a licence, is marked private, and has a README beside it',
  (file) => {
    const manifest = parse<Record<string, unknown>>(file);
    expect(manifest).toMatchObject({ private: true, license: 'Apache-2.0', engines: { node: expect.any(String) } });
    expect(existsSync(join(root, file, '../README.md'))).toBe(true);
  },
);

/** The test files that import the forms of the tests from `rig/form.ts`, and contain this word. */
function filesThatAsk(word: string): string[] {
  return globSync(TEST_FILES, { cwd: root }).filter((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    return / from '[^']*rig\/form\.ts'/.test(text) && new RegExp(`\\b${word}\\b`).test(text);
  });
}

test('`npm run packs` runs every test file that names hasEveryPack', () => {
  const { scripts } = parse<{ scripts: Record<string, string> }>('package.json');
  const parts = scripts['packs']?.split(' vitest run ')[1]?.split(' ') ?? [];
  const asking = filesThatAsk('hasEveryPack');
  expect(asking).not.toEqual([]);
  expect(asking.filter((file) => !parts.some((part) => file.includes(part)))).toEqual([]);
});

test.each(['isLongForm', 'isShortForm', 'slowTest'])(
  '`npm run long` runs every test that asks for it by %s',
  (word) => {
    const [asking, long] = [filesThatAsk(word), filesOfForm(root, 'long')];
    expect(asking).not.toEqual([]);
    expect(asking.filter((file) => !long.has(file))).toEqual([]);
  },
);

test('`npm test` has every file whose quick tests `npm run long` leaves out', () => {
  const [asking, slow, short] = [filesThatAsk('quickTest'), filesThatAsk('slowTest'), filesOfForm(root, 'short')];
  expect(asking).not.toEqual([]);
  expect(asking.filter((file) => !short.has(file) || !slow.includes(file))).toEqual([]);
});

test('`npm test` and `npm run long` together run every test file', () => {
  const [short, long] = [filesOfForm(root, 'short'), filesOfForm(root, 'long')];
  expect(short.union(long)).toEqual(filesOfForm(root, 'whole'));
});

test.each(ONLY_LONG.flatMap(named))('%s is a file of the long form', (file) => {
  expect(existsSync(join(root, file))).toBe(true);
});

/** The files of a pattern with at most one list in braces. */
function named(pattern: string): string[] {
  const [, before = '', list, after = ''] = /^(.*)\{(.*)\}(.*)$/.exec(pattern) ?? [];
  return list === undefined ? [pattern] : list.split(',').map((name) => before + name + after);
}
