/** The demands on package.json files and the lock, so that a fresh clone installs the same everywhere. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

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
  /** Whether the package at `from` finds `name`: Node looks in each enclosing node_modules, the nearest first. */
  function isFound(from: string, name: string): boolean {
    for (let at = from; ; at = at.includes('/node_modules/') ? at.slice(0, at.lastIndexOf('/node_modules/')) : '') {
      if (lock.packages[`${at === '' ? '' : `${at}/`}node_modules/${name}`] !== undefined) return true;
      if (at === '') return false;
    }
  }

  test('has every package that another package needs, even on other platforms, so that npm ci accepts the lock', () => {
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
  '%s has a licence and a README, and is marked private',
  (file) => {
    const manifest = parse<Record<string, unknown>>(file);
    expect(manifest).toMatchObject({ private: true, license: 'Apache-2.0', engines: { node: expect.any(String) } });
    expect(existsSync(join(root, file, '../README.md'))).toBe(true);
  },
);

test.each([
  ['packs', 'hasEveryPack'],
  ['long', 'isLongForm'],
])('`npm run %s` runs every test that asks for it by %s', (script, word) => {
  const { scripts } = parse<{ scripts: Record<string, string> }>('package.json');
  const parts = scripts[script]?.split(' vitest run ')[1]?.split(' ') ?? [];
  const isAsking = new RegExp(`^import \\{.*\\b${word}\\b.*rig/form`, 'm');
  const files = globSync(['packages/*/src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: root });
  const asking = files.filter((file) => isAsking.test(readFileSync(join(root, file), 'utf8')));
  expect(asking).not.toEqual([]);
  expect(asking.filter((file) => !parts.some((part) => file.includes(part)))).toEqual([]);
});
