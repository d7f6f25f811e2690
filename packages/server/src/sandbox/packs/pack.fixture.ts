/** Small trees as `mmdebstrap` would leave them, and packs made from them, for tests that need no Debian package. */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Recipe } from './build/recipe.ts';
import { sealPack } from './build/seal-pack.ts';
import { type PackPlaces, packPlaces } from './pack-store.ts';

export const RECIPE: Recipe = {
  name: 'tiny',
  version: '1',
  languages: ['bash'],
  suite: 'bookworm',
  packages: [],
};

/** Content by path. A path that ends with `/` is a directory. Content that starts with `→` is a link to the path after it. */
const BUILT: Readonly<Record<string, string>> = {
  'usr/bin/perl': 'perl',
  'usr/bin/su': 'su',
  'usr/lib/data.txt': 'data',
  'usr/lib/link': '→/etc/alternatives/link',
  'usr/include/header.h': 'header',
  bin: '→usr/bin',
  lib: '→usr/lib',
  'etc/alternatives/link': '→/usr/lib/data.txt',
  'etc/passwd': 'root:x:0:0:of the build:/root:/bin/bash\n',
  'etc/resolv.conf': 'nameserver 192.0.2.1\n',
  'etc/fonts/fonts.conf': 'fonts',
  'var/lib/dpkg/status':
    'Package: perl-base\nStatus: install ok installed\nVersion: 5.36\n\nPackage: gone\nStatus: deinstall ok config-files\nVersion: 1\n',
  'dev/': '',
  'root/.profile': 'secret of the build',
};

/** A fresh temporary directory, removed when the test ends. */
export function freshDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'svc-packs-test-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

/** Plants a built tree in `directory`, with `more` laid over it. */
export function plantTree(directory: string, more: Readonly<Record<string, string>> = {}): string {
  for (const [path, content] of Object.entries({ ...BUILT, ...more })) {
    const absolute = join(directory, path);
    mkdirSync(path.endsWith('/') ? absolute : dirname(absolute), { recursive: true });
    if (path.endsWith('/')) continue;
    if (content.startsWith('→')) symlinkSync(content.slice(1), absolute);
    else writeFileSync(absolute, content, { mode: 0o664 });
  }
  chmodSync(join(directory, 'usr/bin/perl'), 0o775);
  chownSync(join(directory, 'usr/bin/su'), 1000, 1000);
  chmodSync(join(directory, 'usr/bin/su'), 0o6755);
  return directory;
}

/** Makes a pack below `packs`, as a build would. */
export function plantPack(packs: string, recipe: Recipe = RECIPE): PackPlaces {
  const places = packPlaces(packs, recipe.name, recipe.version);
  sealPack(recipe, plantTree(join(packs, `.built-${recipe.name}-${recipe.version}`)), places.directory);
  return places;
}
