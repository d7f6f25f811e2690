/**
 * The disk with the checkout: the files that git tracks or would track, in their current state, and the installed npm
 * packages for the host's architecture. What the set-up compiles is left out, so each host compiles it.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeImage } from './image.ts';

const ROOT = join(import.meta.dirname, '../..');
const IMAGE_MEGABYTES = 8192;
const COMPILED = 'packages/server/native';
/** The built pages (the same on every architecture), and the record of the sources from which they were built. */
const PAGES = ['packages/server/pages', 'node_modules/.cache/vouchbox-pages.json'];
/** Tools that only check sources. No host runs them. */
const LEFT_OUT = ['.cache', '@biomejs', '@oxlint', '@oxlint-tsgolint', '@typescript', '@arethetypeswrong', 'knip'];

export interface CheckoutOptions {
  readonly architecture: 'amd64' | 'arm64';
  /** Whether the disk also has the programs that this machine compiled. Trials without the set-up need them. */
  readonly isCompiled: boolean;
  readonly cache: string;
  readonly image: string;
  /** The paths of further files to copy into the checkout's root. */
  readonly also?: readonly string[];
}

/** Writes the image. Needs a network once for each lock file and foreign architecture. */
export function makeCheckout({ architecture, isCompiled, cache, image, also = [] }: CheckoutOptions): void {
  const tree = mkdtempSync(join(cache, 'checkout-'));
  try {
    copySources(tree);
    const modules = architecture === 'amd64' ? join(ROOT, 'node_modules') : foreignModules(architecture, cache);
    mkdirSync(join(tree, 'node_modules'));
    const names = readdirSync(modules).filter((name) => !LEFT_OUT.includes(name));
    execFileSync('cp', ['--archive', ...names.map((name) => join(modules, name)), join(tree, 'node_modules')]);
    for (const built of isCompiled ? [...PAGES, COMPILED] : PAGES) {
      cpSync(join(ROOT, built), join(tree, built), { recursive: true });
    }
    for (const file of also) execFileSync('cp', ['--recursive', file, tree]);
    makeImage({ tree, image, megabytes: IMAGE_MEGABYTES });
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

/** Copies the files that git tracks or would track, in their current state. */
export function copySources(tree: string): void {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
  for (const file of listed.toString().split('\0')) {
    if (file === '' || !existsSync(join(ROOT, file))) continue;
    mkdirSync(dirname(join(tree, file)), { recursive: true });
    cpSync(join(ROOT, file), join(tree, file));
  }
}

/** The modules that `npm ci` installs on this architecture, cached under the lock file's digest. */
function foreignModules(architecture: 'arm64', cache: string): string {
  const lock = readFileSync(join(ROOT, 'package-lock.json'));
  const name = `modules-${architecture}-${createHash('sha256').update(lock).digest('hex').slice(0, 16)}`;
  const done = join(cache, name);
  if (!existsSync(done)) {
    const work = mkdtempSync(join(cache, 'modules-'));
    try {
      copySources(work);
      const platform = ['--os=linux', `--cpu=${architecture}`, '--libc=glibc', '--ignore-scripts'];
      execFileSync('npm', ['ci', '--no-audit', '--no-fund', ...platform], {
        cwd: work,
        stdio: ['ignore', 'ignore', 2],
      });
      renameSync(join(work, 'node_modules'), done);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }
  return done;
}
