/**
 * Where test vectors are. Our own are in the repository; published ones are not ours to commit, and are read from
 * `shared/vectors` beside the repository where somebody put them.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const OWN = join(import.meta.dirname, '../../../test/vectors');
const PUBLISHED = join(import.meta.dirname, '../../../../shared/vectors');

/** A file of our own vectors, as JSON. */
export function ownVectors<T>(path: string): T {
  return JSON.parse(readFileSync(join(OWN, path), 'utf8')) as T;
}

/** Whether this folder of published vectors is there. Where it is not, it says so, and its tests are to be skipped. */
export function hasPublishedVectors(folder: string): boolean {
  const isThere = existsSync(join(PUBLISHED, folder));
  if (!isThere) process.stderr.write(`SKIPPED: there are no published vectors in ../shared/vectors/${folder}\n`);
  return isThere;
}

/** The bytes of a published vector file. */
export function publishedBytes(path: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(join(PUBLISHED, path)));
}

/** The cases of a published vector file; none where the file is not there. */
export function publishedCases<T>(path: string): T[] {
  if (!existsSync(join(PUBLISHED, path))) return [];
  return (JSON.parse(new TextDecoder().decode(publishedBytes(path))) as { cases: T[] }).cases;
}

/** The names of the files in a published folder, sorted; none where the folder is not there. */
export function publishedFiles(folder: string): string[] {
  const path = join(PUBLISHED, folder);
  return existsSync(path) ? readdirSync(path).sort() : [];
}
