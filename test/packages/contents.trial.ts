import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { describe, expect, inject, test } from 'vitest';

const tarballs = inject('tarballs');

function filesOf(path: string): readonly string[] {
  const listed = execFileSync('tar', ['-tzf', path], { encoding: 'utf8' });
  return listed
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace('package/', ''));
}

function textOf(path: string, file: string): string {
  return execFileSync('tar', ['-xzOf', path, `package/${file}`], { encoding: 'utf8', maxBuffer: 2 ** 26 });
}

function manifestOf(path: string): Record<string, unknown> {
  return JSON.parse(textOf(path, 'package.json')) as Record<string, unknown>;
}

test('there is a tarball for every published package', () => {
  expect(tarballs.map(({ name }) => name).sort()).toEqual([
    ...['adapters', 'client', 'evidence', 'protocol', 'server', 'verifier'].map((name) => `@vouchbox/${name}`),
    'vouchbox',
  ]);
});

describe.each(tarballs)('the tarball of $name', ({ name, path }) => {
  const files = filesOf(path);
  const scripts = files.filter((file) => /^dist\/.*\.js$/.test(file));

  test('has a licence, a README and a package.json that can be published', () => {
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']));
    const manifest = manifestOf(path);
    expect(manifest).toMatchObject({
      name,
      type: 'module',
      license: 'Apache-2.0',
      keywords: expect.arrayContaining([expect.any(String)]),
      engines: { node: expect.any(String) },
    });
    expect(Object.keys(manifest)).not.toContain('private');
    expect(JSON.stringify(manifest)).not.toMatch(/src\/|workspace:|file:/);
  });

  test('contains no tests, fixtures, databases or sources in TypeScript', () => {
    expect(files.filter((file) => /\.(test|fixture|trial)\.|\/fixtures\/|(^|\/)test\/|\.(db|sql)$/.test(file))).toEqual(
      [],
    );
    expect(files.filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))).toEqual([]);
  });

  test('has a source map with its sources for every script, and the declarations that its manifest names', () => {
    expect(scripts.length).toBeGreaterThan(0);
    for (const script of scripts) expect(files).toContain(`${script}.map`);
    const map = JSON.parse(textOf(path, `${scripts[0]}.map`)) as { sources: string[]; sourcesContent: string[] };
    expect(map.sourcesContent).toHaveLength(map.sources.length);
    const named = JSON.stringify(manifestOf(path)).match(/dist\/[^"]+\.d\.ts/g) ?? [];
    expect(named.filter((file) => !files.includes(file))).toEqual([]);
  });

  test('contains no path of the machine that built it', () => {
    const texts = execFileSync('tar', ['-xzOf', path], { encoding: 'utf8', maxBuffer: 2 ** 28 });
    expect(texts.includes(import.meta.dirname.replace(/\/test\/packages$/, ''))).toBe(false);
  });

  test('passes publint without a message', async () => {
    const tarball = new Uint8Array(readFileSync(path)).buffer;
    const { messages } = await publint({ pack: { tarball } });
    expect(messages).toEqual([]);
  });

  test('passes are-the-types-wrong without a problem for ES modules', async () => {
    const result = await checkPackage(createPackageFromTarballData(new Uint8Array(readFileSync(path))), {
      // These entries are a document and JSON, not modules.
      excludeEntrypoints: ['./openapi.json', './verify.html'],
    });
    if (result.types === false) throw new Error('it has no types');
    // All packages are ES modules: `require` before Node 22, and resolution without `exports`, are not supported.
    const served = result.problems.filter(
      (problem) => !('resolutionKind' in problem && ['node10', 'node16-cjs'].includes(problem.resolutionKind)),
    );
    expect(served).toEqual([]);
  });
});

describe('the tarball of @vouchbox/client', () => {
  const { path = '' } = tarballs.find(({ name }) => name === '@vouchbox/client') ?? {};
  const scripts = filesOf(path).filter((file) => file.endsWith('.js'));
  const text = textOf(path, 'dist/index.js');

  test('has dist/index.js, which imports no file before a call needs it', () => {
    expect(scripts).toContain('dist/index.js');
    expect(text).not.toMatch(/\bfrom ?["'`]|\bimport ?["'`]/);
  });

  test('imports no other package, and uses nothing that only Node has', () => {
    for (const script of scripts) {
      const imported = textOf(path, script).matchAll(/(?:\bfrom|\bimport|\bimport\(|\brequire\() ?["'`]([^"'`]*)/g);
      expect(Array.from(imported, ([, module]) => module).filter((module) => !module?.startsWith('./'))).toEqual([]);
    }
    expect(text).not.toMatch(/\bprocess\.|\bBuffer\b/);
    const { dependencies, peerDependencies, optionalDependencies } = manifestOf(path);
    expect([dependencies, peerDependencies, optionalDependencies]).toEqual([undefined, undefined, undefined]);
  });

  test('has declarations that name no other package', () => {
    const declarations = filesOf(path).filter((file) => file.endsWith('.d.ts'));
    for (const file of declarations) expect(textOf(path, file)).not.toMatch(/(from |import\()['"][^.]/);
  });
});

test('the tarball of the server has pages and C sources; the tarball of vouchbox has recipes and deployment files', () => {
  const files = Object.fromEntries(tarballs.map(({ name, path }) => [name, filesOf(path)]));
  expect(files['@vouchbox/server']).toEqual(
    expect.arrayContaining([
      'setup/main.mjs',
      'pages/verify-page/index.html',
      'pages/verify-page/index.html.gz',
      'pages/docs-site/front.html',
      'dist/sandbox/native/launcher/main.c',
      'dist/sandbox/native/sentry/main.c',
      'dist/sandbox/cell/guest/template.py',
      'dist/sandbox/prove/canaries/canary.mts',
      'native/digests.json',
    ]),
  );
  expect(files['vouchbox']).toEqual(expect.arrayContaining(['packs/python-data.json', 'deploy/vouchbox.service']));
});
