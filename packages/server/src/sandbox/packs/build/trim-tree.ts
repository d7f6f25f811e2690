/**
 * Makes a pack's tree from the result of `mmdebstrap`: only `/usr` and a small `/etc`, owned by root, not writable, with
 * no set-user-id file and no device. Unexpected entries are refused, because a pack's tree becomes the system of every
 * program that runs in it.
 */
import {
  chmodSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { ETC_FILES } from '../../cell/rootfs.ts';
import { walkTree } from '../manifest.ts';
import { PackError } from '../pack-error.ts';
import type { Recipe } from './recipe.ts';

/** Top-level names that lead into `/usr`, as in every cell's root. */
const LINKS = ['bin', 'lib', 'lib32', 'lib64', 'libx32', 'sbin'];
/** Top-level directories that a package may fill but that no cell sees. */
const LEFT_BEHIND = 'boot dev home media mnt opt proc root run srv sys tmp var'.split(' ');
/** The entries of `/etc` that programs need in any pack. */
const ETC_KEPT =
  /^(alternatives|debian_version|inputrc|ld\.so\.(cache|conf|conf\.d)|localtime|mime\.types|os-release|python3(\.\d+)?|terminfo|timezone)$/;
/** The permissions that an entry keeps, at most read and search: no write, set-user-id, set-group-id or sticky bit. */
const MODE_KEPT = 0o555;

/** Fills `pack`, an empty directory, with files moved from `built`. @throws PackError on an entry that no pack may have */
export function trimTree(built: string, pack: string, recipe: Recipe): void {
  checkTopLevel(built);
  renameSync(join(built, 'usr'), join(pack, 'usr'));
  mkdirSync(join(pack, 'etc'), { mode: 0o755 });
  takeEtc(join(built, 'etc'), join(pack, 'etc'), recipe);
  for (const path of recipe.exclude ?? []) exclude(pack, path);
  walkTree(pack, ({ absolute }) => settle(absolute));
}

function checkTopLevel(built: string): void {
  for (const name of readdirSync(built)) {
    const stats = lstatSync(join(built, name));
    if (LINKS.includes(name)) {
      const leadsInto = stats.isSymbolicLink() ? readlinkSync(join(built, name)) : 'nothing';
      if (leadsInto !== `usr/${name}`) throw new PackError(`/${name} leads into ${leadsInto} instead of usr/${name}`);
    } else if (name === 'usr' || name === 'etc' || LEFT_BEHIND.includes(name)) {
      if (!stats.isDirectory()) throw new PackError(`/${name} is not a directory`);
    } else {
      throw new PackError(`/${name} is not an entry that a pack may bring`);
    }
  }
}

function takeEtc(from: string, to: string, recipe: Recipe): void {
  const wanted = new Set(recipe.etc ?? []);
  for (const name of readdirSync(from)) {
    if (!ETC_KEPT.test(name) && !wanted.delete(name)) continue;
    renameSync(join(from, name), join(to, name));
  }
  for (const name of wanted) if (!existsSync(join(to, name))) throw new PackError(`/etc/${name} was not installed`);
  const environment = Object.entries(recipe.environment ?? {}).map(([name, value]) => `${name}=${value}\n`);
  for (const [name, content] of Object.entries({ ...ETC_FILES, environment: environment.join('') })) {
    writeFileSync(join(to, name), content, { flag: 'wx' });
  }
}

/** Removes a file or directory. A path that leads out of the tree through a link is refused. */
function exclude(pack: string, path: string): void {
  const names = path.split('/').slice(1);
  for (let depth = 1; depth < names.length; depth++) {
    const parent = lstatSync(join(pack, ...names.slice(0, depth)), { throwIfNoEntry: false });
    if (parent === undefined) return;
    if (!parent.isDirectory()) throw new PackError(`${path} leads through something that is not a directory`);
  }
  rmSync(join(pack, ...names), { recursive: true, force: true });
}

function settle(absolute: string): void {
  const stats = lstatSync(absolute);
  if (stats.isFile() || stats.isDirectory()) {
    lchownSync(absolute, 0, 0);
    chmodSync(absolute, stats.mode & MODE_KEPT);
  } else if (stats.isSymbolicLink()) {
    lchownSync(absolute, 0, 0);
  } else {
    unlinkSync(absolute); // A tree that is only read needs no devices, pipes or sockets.
  }
}
