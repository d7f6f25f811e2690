/** The image of `deploy/Containerfile` as one file that every container engine can load. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildImage, NAME } from '../deploy/built-image.ts';

const ROOT = join(import.meta.dirname, '../..');
/** The sources from which the image is made. */
const SOURCES = ['packages', 'packs', 'tools', 'deploy/Containerfile', 'package.json', 'package-lock.json'];

/** Options that make git list the files that it tracks or would track. The image is built from these files. */
const LISTED = ['--cached', '--others', '--exclude-standard'];

/** Builds the image, or finds the image built from the same sources. @returns the path of `image.tar`, alone in its directory */
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
