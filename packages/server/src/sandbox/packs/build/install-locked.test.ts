/** Locked packages, installed for real by this host's pip and npm into trees that no package manager made. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { hasEveryPack } from '../../../../../../test/rig/form.ts';
import { freshDirectory, plantTree } from '../pack.fixture.ts';
import { PackError } from '../pack-error.ts';
import { installLocked } from './install-locked.ts';
import { INICONFIG, IS_NUMBER, lockfile, requirements } from './locked.fixture.ts';
import type { Recipe } from './recipe.ts';

/** Makes the smallest wheel there is, at a path whose name says what it is for, and prints its digest. */
const MAKE_WHEEL = `
import hashlib, sys, zipfile
path = sys.argv[1]
tag = path.rsplit('/', 1)[1].removesuffix('.whl').split('-', 2)[2]
info = 'tiny-1.0.dist-info'
files = {
    'tiny.py': 'size = 1\\n',
    f'{info}/METADATA': 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n',
    f'{info}/WHEEL': f'Wheel-Version: 1.0\\nRoot-Is-Purelib: false\\nTag: {tag}\\n',
}
files[f'{info}/RECORD'] = ''.join(f'{name},,\\n' for name in [*files, f'{info}/RECORD'])
with zipfile.ZipFile(path, 'w') as wheel:
    for name, text in files.items():
        wheel.writestr(name, text)
print(hashlib.sha256(open(path, 'rb').read()).hexdigest(), end='')
`;

const PYTHON = { 'usr/bin/python3.11': 'python' };

async function install(locked: Recipe['locked'], more: Readonly<Record<string, string>> = PYTHON): Promise<string> {
  const directory = freshDirectory();
  const work = join(directory, 'work');
  // Settings that must not be read, because they are in no user's home: with them, pip would find nothing.
  mkdirSync(join(work, '.config/pip'), { recursive: true });
  writeFileSync(join(work, '.config/pip/pip.conf'), '[global]\nno-index = true\n');
  const tree = plantTree(join(directory, 'tree'), more);
  await installLocked({ recipe: locked === undefined ? {} : { locked }, tree, work, proxies: {}, onLine: () => {} });
  return join(tree, 'usr/local/lib');
}

describe('locked packages', () => {
  it('are in the places where a pack’s Python and Node look for them', async () => {
    const library = await install({ requirements: requirements(INICONFIG), npm_lockfile: lockfile(IS_NUMBER) });
    const read = (path: string) => readFileSync(join(library, path), 'utf8');
    expect(read('python3.11/dist-packages/iniconfig/__init__.py')).toContain('class IniConfig');
    expect(read('node_modules/is-number/index.js')).toContain('module.exports');
  });

  it("are fetched with the settings in the user's home, even if HOME is relative", async () => {
    vi.stubEnv('HOME', '.');
    const library = await install({ requirements: requirements(INICONFIG) }).finally(() => vi.unstubAllEnvs());
    expect(readdirSync(library)).toEqual(['python3.11']);
  });

  // If a digest is wrong, pip and npm try again. That takes ten seconds for each.
  it.runIf(hasEveryPack)('are refused if a wheel has another digest', async () => {
    await expect(install({ requirements: requirements('a'.repeat(64)) })).rejects.toThrow(/pip failed|python3 failed/);
  });

  it.runIf(hasEveryPack)('are refused if an npm package has another digest', async () => {
    const other = `sha512-${'A'.repeat(86)}==`;
    await expect(install({ npm_lockfile: lockfile(other) })).rejects.toThrow(/npm failed.*EINTEGRITY/);
  });

  it('are refused if a link of the tree leads outside the tree', async () => {
    const led = install({ npm_lockfile: lockfile(IS_NUMBER) }, { 'usr/local': '→/tmp' });
    await expect(led).rejects.toThrow('leads through something that is not a directory');
  });

  it('are refused in a pack without Python', async () => {
    await expect(install({ requirements: requirements(INICONFIG) }, {})).rejects.toThrow('need one Python');
  });
}, 60_000);

describe('the platform of a wheel', () => {
  const machine = process.arch === 'arm64' ? 'aarch64' : 'x86_64';
  afterEach(() => vi.unstubAllEnvs());

  /** Lets pip find only one wheel, made for this platform, and installs that wheel as a locked package. */
  async function installWheelFor(platform: string): Promise<string> {
    const home = freshDirectory();
    mkdirSync(join(home, '.config/pip'), { recursive: true });
    writeFileSync(join(home, '.config/pip/pip.conf'), `[global]\nno-index = true\nfind-links = ${home}\n`);
    vi.stubEnv('HOME', home);
    const wheel = join(home, `tiny-1.0-py3-none-${platform}.whl`);
    const digest = execFileSync('/usr/bin/python3', ['-c', MAKE_WHEEL, wheel], { encoding: 'utf8' });
    return install({ requirements: `tiny==1.0 --hash=sha256:${digest}\n` });
  }

  it.each(hasEveryPack ? ['manylinux_2_28', 'manylinux2014', 'manylinux2010', 'manylinux1'] : ['manylinux2014'])(
    'a wheel built for %s is installed',
    async (name) => {
      const library = await installWheelFor(`${name}_${machine}`);
      expect(readFileSync(join(library, 'python3.11/dist-packages/tiny.py'), 'utf8')).toBe('size = 1\n');
    },
  );

  it.each(hasEveryPack ? ['musllinux_1_2', 'manylinux_2_99'] : ['musllinux_1_2'])(
    'a wheel built for %s is refused, and the hint lists the accepted platforms',
    async (name) => {
      const refused: unknown = await installWheelFor(`${name}_${machine}`).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(PackError);
      expect((refused as PackError).hint).toContain(
        `only wheels of Python 3.11 for glibc up to 2.36 on ${machine} are taken`,
      );
    },
  );
}, 60_000);
