/**
 * Builds a host's root with `mmdebstrap`, as a directory and then as an ext4 image, beside its kernel and its initial
 * file system. A root that was built earlier from the same recipe is used again.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ARCHIVE_OPTIONS, archiveLines } from './archive.ts';
import { foreignPrograms } from './foreign-programs.ts';
import { makeImage } from './image.ts';
import { makeInitialFiles } from './initial-files.ts';
import { BARE_PACKAGES, digestOf, FILES, PACKAGES, type RootRecipe } from './root-recipe.ts';

const BUILD_MILLISECONDS_MAX = 20 * 60_000;
const IMAGE_MEGABYTES = 8192;

/** The files from which QEMU starts a host. */
export interface BuiltRoot {
  readonly kernel: string;
  readonly initialFiles: string;
  readonly image: string;
}

/** Builds a root below `cache`, or finds it there. Needs root, and a network the first time. */
export function buildRoot(recipe: RootRecipe, cache: string): BuiltRoot {
  const name = `${recipe.suite}-${recipe.architecture}-${digestOf(recipe)}`;
  const done = join(cache, name);
  if (!existsSync(done)) {
    mkdirSync(cache, { recursive: true });
    const work = mkdtempSync(join(cache, 'building-'));
    try {
      build(recipe, work);
      renameSync(join(work, 'built'), done);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }
  return { kernel: join(done, 'kernel'), initialFiles: join(done, 'initial-files'), image: join(done, 'root.ext4') };
}

function build(recipe: RootRecipe, work: string): void {
  const tree = join(work, 'tree');
  using _ = foreignPrograms(recipe.architecture);
  bootstrap(recipe, tree);
  finish(tree, join(work, 'built'));
}

/** Adds our files to the tree, and makes from it the files that QEMU starts. */
function finish(tree: string, built: string): void {
  mkdirSync(built);
  for (const [path, text] of Object.entries(FILES)) writeFileSync(join(tree, path), text);
  mkdirSync(join(tree, 'opt/vouchbox'));
  inTree(tree, ['systemctl', 'enable', 'vouchbox-trial.service']);
  const [kernel = ''] = globSync(join(tree, 'boot/vmlinuz-*'));
  cpSync(kernel, join(built, 'kernel'));
  makeInitialFiles(tree, join(built, 'initial-files'));
  makeImage({ tree, image: join(built, 'root.ext4'), megabytes: IMAGE_MEGABYTES });
}

function bootstrap({ suite, architecture, fromBackports, isBare, also = [] }: RootRecipe, tree: string): void {
  const packages = [...(isBare === true ? BARE_PACKAGES : PACKAGES), ...also].map((name) =>
    fromBackports.includes(name) ? `${name}/${suite}-backports` : name,
  );
  const words = [
    ...['--mode=root', '--variant=minbase', `--architectures=${architecture}`, '--dpkgopt=force-unsafe-io'],
    ...ARCHIVE_OPTIONS.map((option) => `--aptopt=${option}`),
    ...['doc', 'man', 'locale'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`),
    `--include=${packages.join(',')}`,
    `--customize-hook=${kernelHook(architecture)}`,
    ...[suite, tree, ...archiveLines(suite)],
  ];
  const apart = ['--pdeathsig=KILL', 'unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
  run('setpriv', [...apart, 'nice', '-n', '10', 'mmdebstrap', ...words]);
}

/**
 * Unpacks the newest kernel for virtual machines without running its scripts. They would make an initial file system with
 * every module. `$1` is the tree.
 */
function kernelHook(architecture: string): string {
  return [
    'set -e; cd "$1"; mkdir tmp/kernel; cd tmp/kernel; export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"',
    `kernel=$(apt-cache depends linux-image-cloud-${architecture} | sed -n 's/^ *Depends: \\(linux-image-[0-9].*\\)/\\1/p' | head -n 1)`,
    'apt-get download "$kernel"; dpkg-deb --fsys-tarfile ./*.deb | tar -x -C "$1" --keep-directory-symlink; cd "$1"; rm -r tmp/kernel; chroot "$1" /sbin/depmod "$(ls lib/modules)"',
  ].join('; ');
}

function inTree(tree: string, words: readonly string[]): void {
  run('chroot', [tree, ...words]);
}

/** @throws Error with the last lines that the command printed */
function run(command: string, words: readonly string[]): void {
  const { status, stderr } = spawnSync(command, words, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8', DEBIAN_FRONTEND: 'noninteractive' },
    timeout: BUILD_MILLISECONDS_MAX,
  });
  if (status !== 0) throw new Error(`${command} failed: ${stderr.toString().trim().split('\n').slice(-4).join(' | ')}`);
}
