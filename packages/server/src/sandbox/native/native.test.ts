/** The programs of a package and of a checkout. Each is planted in a directory of its own, with a copy of `native.ts`. */
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const scratch = mkdtempSync(join(tmpdir(), 'svc-natives-'));
afterAll(() => rmSync(scratch, { recursive: true }));

const LAUNCHED = ['svc-launcher', 'svc-launcher.so', 'svc-sentry', 'svc-stage', 'svc-init', 'svc-filter', 'svc-enter'];
const NAMES = [...LAUNCHED, 'svc-canary'];

/** Plants a server with this name and programs for an architecture: a package with a list of the programs, or a checkout. */
async function serverWith(name: string, { architecture = process.arch as string, isPackage = true } = {}) {
  const root = join(scratch, name);
  const module = join(root, 'dist/sandbox/native/native.ts');
  mkdirSync(dirname(module), { recursive: true });
  cpSync(join(import.meta.dirname, 'native.ts'), module);
  const directory = join(root, 'native', architecture);
  mkdirSync(directory, { recursive: true });
  for (const file of NAMES) writeFileSync(join(directory, file), `program ${file}`);
  const digest = (file: string) => createHash('sha256').update(`program ${file}`).digest('hex');
  const programs = Object.fromEntries(NAMES.map((file) => [`${architecture}/${file}`, { sha256: digest(file) }]));
  if (isPackage) writeFileSync(join(root, 'native/digests.json'), JSON.stringify({ programs }));
  const natives = (await import(module)) as typeof import('./native.ts');
  return { natives, directory };
}

test('a program of an installed package is used only if its digest is the listed one', async () => {
  const { natives, directory } = await serverWith('package');
  expect(natives.unusableNatives()).toEqual([]);
  expect(natives.nativePath('svc-init')).toBe(join(directory, 'svc-init'));
  appendFileSync(join(directory, 'svc-init'), '!');
  rmSync(join(directory, 'svc-filter'));
  expect(natives.unusableNatives()).toEqual(['svc-init', 'svc-filter']);
  const problem = 'svc-init and svc-filter changed since this package was built: install the package again';
  expect(natives.nativeProblem()).toBe(problem);
  expect(natives.nativeProblem(['svc-enter'])).toBeNull();
  // Every program of a package must be unchanged, because a start uses more programs than a class asks for.
  expect(() => natives.requireNatives('svc-stage')).toThrow(problem);
});

test('a program that is not in the list is not used', async () => {
  const { natives, directory } = await serverWith('unlisted');
  writeFileSync(join(dirname(directory), 'digests.json'), '{ "programs": {} }');
  expect(natives.unusableNatives(['svc-enter'])).toEqual(['svc-enter']);
});

test('a package without programs for this architecture names the architectures that it supports', async () => {
  const { natives } = await serverWith('foreign', { architecture: 'other' });
  const problem = `this package starts cells on other, and has no programs for ${process.arch}`;
  expect(natives.nativeProblem()).toBe(problem);
  expect(() => natives.requireNatives('svc-stage')).toThrow(problem);
});

test('a checkout uses the programs that were compiled, and demands only those that it needs', async () => {
  const { natives, directory } = await serverWith('checkout', { isPackage: false });
  appendFileSync(join(directory, 'svc-init'), '!');
  rmSync(join(directory, 'svc-launcher'));
  expect(natives.unusableNatives()).toEqual(['svc-launcher']);
  expect(() => natives.requireNatives('svc-init')).not.toThrow();
  expect(() => natives.requireNatives('svc-launcher')).toThrow('svc-launcher must be built first');
});

/** A checkout with small sources of the same names. */
async function checkoutWithSources() {
  const root = join(scratch, 'sources');
  const sources = join(root, 'src/sandbox/native');
  cpSync(join(import.meta.dirname, '../../../setup/build-natives.mjs'), join(root, 'setup/build-natives.mjs'));
  for (const name of readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.c')) continue;
    const hasMain = readFileSync(join(import.meta.dirname, name), 'utf8').includes('int main(');
    mkdirSync(dirname(join(sources, name)), { recursive: true });
    writeFileSync(join(sources, name), hasMain ? 'int main(void) { return 0; }' : '');
  }
  const setUp = (await import(join(root, 'setup/build-natives.mjs'))) as {
    buildNatives(): boolean;
    staleNatives(): readonly string[];
  };
  return { setUp, sources, directory: join(root, 'native', process.arch) };
}

test('a program whose sources changed is compiled again, or counts as missing', async () => {
  const { setUp, sources, directory } = await checkoutWithSources();
  expect(setUp.buildNatives()).toBe(true);
  utimesSync(join(sources, 'stage.c'), new Date(), new Date(Date.now() + 60_000));
  expect([setUp.staleNatives(), setUp.buildNatives()]).toEqual([[], false]);
  writeFileSync(join(sources, 'launcher/serve.c'), '#error no');
  // The changed source is older than the programs, as after a copy that keeps the times of files.
  utimesSync(join(sources, 'launcher/serve.c'), new Date(0), new Date(0));
  expect([...setUp.staleNatives()].sort()).toEqual([...NAMES].sort());
  expect(() => setUp.buildNatives()).toThrow('#error no');
  expect(setUp.staleNatives()).toEqual(['svc-launcher']);
  expect(existsSync(join(directory, 'svc-launcher'))).toBe(false);
});
