/**
 * Checks that a pack's tree still matches its manifest. The content of a file is not read again if the kernel reports that the
 * file has not changed since the last check. So a service that starts checks every entry but reads almost no content.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { canonicalJson } from '@vouchbox/evidence';
import { entryOf, type ManifestEntry, manifestDigest, parseManifest, type Visited, walkTree } from './manifest.ts';
import { PackError } from './pack-error.ts';
import { type PackFacts, type PackPlaces, readFacts } from './pack-store.ts';

const PROBLEMS_MAX = 10;

/** The result of a check. */
export interface Verified {
  readonly facts: PackFacts;
  readonly entries: number;
  /** Files whose content was read. */
  readonly read: number;
}

/**
 * Compares every entry's type, mode, owner, size and link target with the manifest, and the manifest with the pack's digest.
 * `every` also reads the content of each file; `changed` reads only the content of files that changed since the last such check.
 *
 * @throws PackError naming the first entries that differ
 */
export function verifyPack(places: PackPlaces, content: 'every' | 'changed'): Verified {
  const facts = readFacts(places);
  const text = readFileSync(places.manifest, 'utf8');
  if (manifestDigest(text) !== facts.digest) throw new PackError(`${places.manifest} does not have the pack's digest`);
  const look = new Look(parseManifest(text), content === 'every' ? -1n : readChecked(places, facts.digest));
  walkTree(places.tree, (visited) => look.at(visited));
  const problems = look.end();
  if (problems.length > 0) {
    const rest = problems.length > PROBLEMS_MAX ? ` and ${problems.length - PROBLEMS_MAX} more` : '';
    throw new PackError(
      `the runtime pack ${facts.name} ${facts.version} was changed: ${problems.slice(0, PROBLEMS_MAX).join(', ')}${rest}`,
      { hint: `build it again: vouchbox packs remove ${facts.name}, then vouchbox packs build ${facts.name}` },
    );
  }
  if (look.read > 0) writeChecked(places, facts.digest, look.newest);
  return { facts, entries: look.entries, read: look.read };
}

class Look {
  readonly #expected: Map<string, ManifestEntry>;
  readonly #knownUntil: bigint;
  readonly #problems: string[] = [];
  entries = 0;
  read = 0;
  /** The latest change time of the tree, in nanoseconds. */
  newest = 0n;

  constructor(expected: Map<string, ManifestEntry>, knownUntil: bigint) {
    this.#expected = expected;
    this.#knownUntil = knownUntil;
  }

  at({ path, absolute, stats }: Visited): void {
    this.entries++;
    if (stats.ctimeNs > this.newest) this.newest = stats.ctimeNs;
    const expected = this.#expected.get(path);
    this.#expected.delete(path);
    const isKnown = expected?.type === 'file' && stats.isFile() && stats.ctimeNs <= this.#knownUntil;
    if (!isKnown && stats.isFile()) this.read++;
    if (expected === undefined) this.#problems.push(`${path} is new`);
    else if (stats.uid !== 0n || stats.gid !== 0n) this.#problems.push(`${path} does not belong to root`);
    else if (!isKnown && !isSame(expected, entryOf(path, absolute, stats))) this.#problems.push(`${path} differs`);
  }

  end(): readonly string[] {
    return [...this.#problems, ...[...this.#expected.keys()].map((path) => `${path} is missing`)];
  }
}

function isSame(a: ManifestEntry, b: ManifestEntry): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

/** The change time up to which content was checked; -1 if no check is recorded. */
function readChecked({ checked }: PackPlaces, digest: string): bigint {
  try {
    const value = JSON.parse(readFileSync(checked, 'utf8')) as { digest?: unknown; ctime_ns?: unknown };
    return value.digest === digest && typeof value.ctime_ns === 'string' ? BigInt(value.ctime_ns) : -1n;
  } catch {
    return -1n; // No check is recorded legibly, so all content is read.
  }
}

/** Records a check if that is possible. If the packs are on a read-only file system, every check reads all content. */
function writeChecked({ checked }: PackPlaces, digest: string, newest: bigint): void {
  try {
    writeFileSync(checked, `${JSON.stringify({ digest, ctime_ns: String(newest) })}\n`, { mode: 0o644 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EROFS') throw error;
  }
}
