/**
 * Where test vectors are. The service's own vectors are in the repository. Published vectors belong to others and are not
 * committed. They are read from `shared/vectors` beside the repository, if they are there.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const OWN = join(import.meta.dirname, '../../../test/vectors');
const PUBLISHED = join(import.meta.dirname, '../../../../shared/vectors');

/** A file of the repository's vectors, as JSON. */
export function ownVectors<T>(path: string): T {
  return JSON.parse(readFileSync(join(OWN, path), 'utf8')) as T;
}

/** Whether this folder of published vectors exists. If not, prints a line about it, and the tests must be skipped. */
export function hasPublishedVectors(folder: string): boolean {
  const isThere = existsSync(join(PUBLISHED, folder));
  if (!isThere) process.stderr.write(`SKIPPED: there are no published vectors in ../shared/vectors/${folder}\n`);
  return isThere;
}

/** The bytes of a published vector file. */
export function publishedBytes(path: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(join(PUBLISHED, path)));
}

/** The cases of a published vector file; none if the file does not exist. */
export function publishedCases<T>(path: string): T[] {
  if (!existsSync(join(PUBLISHED, path))) return [];
  return (JSON.parse(new TextDecoder().decode(publishedBytes(path))) as { cases: T[] }).cases;
}

/** The names of the files in a published folder, sorted; none if the folder does not exist. */
export function publishedFiles(folder: string): string[] {
  const path = join(PUBLISHED, folder);
  return existsSync(path) ? readdirSync(path).sort() : [];
}
