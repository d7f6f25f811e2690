/** The steps of the set-up before the packages are installed. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, test, vi } from 'vitest';

interface Host {
  readonly platform: string;
  readonly arch: string;
  readonly version: string;
}
interface Lock {
  readonly packages: Record<string, unknown>;
}
interface SetUp {
  readonly installPackages: (root: string, options: { say: (line: string) => void; host: Host }) => void;
  readonly pinnedNode: (
    lock: Lock,
    host: Host,
  ) => { readonly name: string; readonly version: string; readonly integrity: string; readonly program: string };
}

const root = join(import.meta.dirname, '../..');
// The module is plain JavaScript for any Node from version 18 on, so it has no types.
const module = join(root, 'tools/install-packages.mjs');
const { installPackages, pinnedNode } = (await import(module)) as SetUp;
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
const debian12: Host = { platform: 'linux', arch: 'x64', version: 'v18.20.4' };

describe('the Node that is pinned for a host', () => {
  test.each([
    ['linux', 'x64'],
    ['linux', 'arm64'],
    ['darwin', 'x64'],
    ['darwin', 'arm64'],
  ])('is a package in package-lock.json, with its digest: %s-%s', (platform, arch) => {
    const { name, integrity } = pinnedNode(lock, { platform, arch, version: 'v18.20.4' });
    expect(name).toMatch(new RegExp(`^node.*-${platform}-${arch}$`));
    expect(integrity).toMatch(/^sha512-/);
  });

  test('is missing on an unknown platform, and one line reports this', () => {
    expect(() => pinnedNode(lock, { ...debian12, arch: 'ppc64' })).toThrow(
      /^no Node is pinned for linux-ppc64, and this one is v18\.20\.4: install Node 26\.4 or newer$/,
    );
  });
});

/** One start of npm: its Node, its arguments, its directory, and the packages in that directory's lock file. */
interface Start {
  readonly node: string;
  readonly words: readonly string[];
  readonly directory: string;
  readonly first: string;
  readonly locked: Record<string, unknown>;
}

/** Stands in for npm, which would need a registry. It records how it was started, and installs a Node if asked for one. */
const NPM = `
  const { appendFileSync, mkdirSync, readFileSync, symlinkSync } = require('node:fs');
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const { argv, argv0, env } = process;
  const start = { node: argv0, words: argv.slice(2), directory: process.cwd(), first: env.PATH.split(':')[0], locked: packages };
  appendFileSync(env.STARTS, JSON.stringify(start) + '\\n');
  const [name] = Object.keys(packages).filter((path) => path.startsWith('node_modules/node-'));
  mkdirSync(name + '/bin', { recursive: true });
  if (Object.keys(packages).length === 2) symlinkSync(env.NODE, name + '/bin/node');
`;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-set-up-'));
  mkdirSync(join(directory, 'checkout'));
  writeFileSync(join(directory, 'checkout/package-lock.json'), JSON.stringify(lock));
  writeFileSync(join(directory, 'npm-cli.js'), NPM);
  vi.stubEnv('npm_execpath', join(directory, 'npm-cli.js'));
  vi.stubEnv('STARTS', join(directory, 'starts'));
  vi.stubEnv('NODE', process.execPath);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true });
});

function install(host: Host): { readonly starts: readonly Start[]; readonly said: readonly string[] } {
  const said: string[] = [];
  installPackages(join(directory, 'checkout'), { say: (line) => said.push(line), host });
  const lines = readFileSync(join(directory, 'starts'), 'utf8').trim().split('\n');
  return { starts: lines.map((line) => JSON.parse(line) as Start), said };
}

it('npm on an old Node first fetches the pinned Node, by its digest in the lock, and then runs on that Node', () => {
  const { starts, said } = install(debian12);
  expect(said).toEqual([
    `npm runs on Node v18.20.4, which is too old for some packages: fetching ${pinnedNode(lock, debian12).version} first`,
  ]);
  const [fetching, installing] = starts;
  const { name, version, integrity, program } = pinnedNode(lock, debian12);
  expect(fetching?.locked).toEqual({
    '': expect.objectContaining({ dependencies: { [name]: version } }),
    [`node_modules/${name}`]: { version, integrity },
  });
  const pinned = join(String(fetching?.directory), 'node_modules', name, program);
  expect(installing).toMatchObject({ node: pinned, first: join(pinned, '..'), locked: lock.packages });
  expect(installing?.directory).toBe(join(directory, 'checkout'));
  expect(starts.map(({ words }) => words[0])).toEqual(['ci', 'ci']);
  expect(existsSync(String(fetching?.directory))).toBe(false);
});

it('npm on a new Node installs the packages at once', () => {
  const { starts, said } = install({ ...debian12, version: 'v26.4.0' });
  expect(said).toEqual([]);
  expect(starts).toMatchObject([{ node: process.execPath, directory: join(directory, 'checkout') }]);
});

it('a host for which no Node is pinned gets no packages', () => {
  expect(() => install({ ...debian12, arch: 'ppc64' })).toThrow(/install Node 26\.4 or newer/);
  expect(existsSync(join(directory, 'starts'))).toBe(false);
});
