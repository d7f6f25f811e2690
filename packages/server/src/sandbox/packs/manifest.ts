/**
 * The entries of a pack's tree, and one digest over all of them. The manifest is a text with one canonical JSON object per line,
 * sorted by the bytes of the path. A pack's digest is the SHA-256 of that text, so an auditor can compute it without our code.
 */
import { type BigIntStats, lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson, sha256Hex } from '@vouchbox/evidence';
import { hashFile } from '../kernel/host/hash-file.ts';

/** One entry. `path` is relative to the tree. `mode` is four octal digits, and a link has no mode. */
export type ManifestEntry =
  | { readonly path: string; readonly type: 'directory'; readonly mode: string }
  | {
      readonly path: string;
      readonly type: 'file';
      readonly mode: string;
      readonly size: number;
      readonly sha256: string;
    }
  | { readonly path: string; readonly type: 'link'; readonly target: string };

/** Everything below `tree`, parents first. @throws Error on an entry that no pack may have: a device, pipe, socket or odd name */
export function readTree(tree: string): ManifestEntry[] {
  return walkTree(tree, ({ path, absolute, stats }) => entryOf(path, absolute, stats));
}

export function manifestText(entries: readonly ManifestEntry[]): string {
  const sorted = entries.toSorted((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
  return sorted.map((entry) => `${canonicalJson(entry)}\n`).join('');
}

/** The entries in a manifest's text, keyed by path. */
export function parseManifest(text: string): Map<string, ManifestEntry> {
  const entries = text.split('\n').filter(Boolean);
  return new Map(entries.map((line) => JSON.parse(line) as ManifestEntry).map((entry) => [entry.path, entry]));
}

/** The digest of a pack whose manifest is `text`. */
export function manifestDigest(text: string): string {
  return sha256Hex(text);
}

export interface Visited {
  readonly path: string;
  readonly absolute: string;
  readonly stats: BigIntStats;
}

/** Visits everything below `tree`, parents first, following no link. */
export function walkTree<T>(tree: string, visit: (visited: Visited) => T, below = ''): T[] {
  return readdirSync(join(tree, below)).flatMap((name) => {
    // A name that is not UTF-8 was decoded with a replacement character, and would not be found again.
    if (name.includes('\ufffd')) throw new Error(`${join(below, name)}: its name is not UTF-8`);
    const path = below === '' ? name : `${below}/${name}`;
    const absolute = join(tree, path);
    const stats = lstatSync(absolute, { bigint: true });
    const visited = visit({ path, absolute, stats });
    return stats.isDirectory() ? [visited, ...walkTree(tree, visit, path)] : [visited];
  });
}

/** An entry without the content of a file. @throws Error on an entry that no pack may have */
export function entryOf(path: string, absolute: string, stats: BigIntStats): ManifestEntry {
  const mode = (stats.mode & 0o7777n).toString(8).padStart(4, '0');
  if (stats.isDirectory()) return { path, type: 'directory', mode };
  if (stats.isSymbolicLink()) return { path, type: 'link', target: readlinkSync(absolute) };
  if (stats.isFile()) return { path, type: 'file', mode, size: Number(stats.size), sha256: hashFile(absolute) };
  throw new Error(`${path} is neither a file, a directory nor a link`);
}
