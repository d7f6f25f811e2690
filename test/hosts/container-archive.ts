/** The image of `deploy/Containerfile` as one file, which every engine of containers loads. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildImage, NAME } from '../deploy/built-image.ts';

const ROOT = join(import.meta.dirname, '../..');
/** What comes into the image and could change it. */
const SOURCES = ['packages', 'packs', 'tools', 'deploy/Containerfile', 'package.json', 'package-lock.json'];

/** What git tracks or would track: of this the image is built. */
const LISTED = ['--cached', '--others', '--exclude-standard'];

/** Builds it, or finds the one that was built of the same sources. @returns a directory's only file, `image.tar` */
export function containerArchive(cache: string): string {
  const done = join(cache, `image-${digestOfSources()}`);
  const archive = join(done, 'image.tar');
  if (existsSync(archive)) return archive;
  const work = mkdtempSync(join(cache, 'image-work-'));
  const kept = mkdtempSync(join(cache, 'image-built-'));
  try {
    buildImage(work).run('save', '--format', 'docker-archive', '--output', join(kept, 'image.tar'), NAME);
    renameSync(kept, done);
  } finally {
    for (const directory of [work, kept]) rmSync(directory, { recursive: true, force: true });
  }
  return archive;
}

function digestOfSources(): string {
  const listed = execFileSync('git', ['ls-files', '-z', ...LISTED, '--', ...SOURCES], { cwd: ROOT });
  const hash = createHash('sha256');
  for (const file of listed.toString().split('\0')) {
    if (file === '' || !existsSync(join(ROOT, file))) continue;
    hash.update(`${file}\0`).update(readFileSync(join(ROOT, file)));
  }
  return hash.digest('hex').slice(0, 16);
}
