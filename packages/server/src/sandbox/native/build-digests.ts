/**
 * The digests of the running code: the service's own files as they are on disk when it starts, and the programs in C
 * that start its cells. Node, third-party libraries and code that is loaded later are not covered.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nativePath } from './native.ts';

/** The digests in the form of a signed statement. */
export interface StatedBuild {
  readonly server: string;
  /** SHA-256, keyed by the program's name. */
  readonly programs: Readonly<Record<string, string>>;
}

export interface BuildDigests {
  /** The digests for a cell made by the runtime with this name. */
  of(runtime: string | undefined): StatedBuild;
}

/** The programs of each runtime, keyed by its name in receipts. The runtime's own digest is in the host's posture. */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  'svc-launcher': ['svc-launcher', 'svc-launcher.so'],
  crun: ['svc-init', 'svc-stage'],
  runsc: ['svc-filter', 'svc-init', 'svc-sentry', 'svc-stage'],
};

/** How many files are read at the same time, so that a start on a slow disk does not take long. */
const readAtOnce = 16;

/** Reads everything once. Rejects if a file cannot be read. */
export async function readBuildDigests(): Promise<BuildDigests> {
  const [server, programs] = [await serverDigest(), await programDigests()];
  return {
    of(runtime = '') {
      const names = PROGRAMS[runtime] ?? [];
      const known = names.flatMap((name): [string, string][] => {
        const sha256 = programs.get(name);
        return sha256 === undefined ? [] : [[name, sha256]];
      });
      return { server, programs: Object.fromEntries(known) };
    },
  };
}

/** The digest of the lines that `sha256sum` writes for all files, sorted by their paths below the packages' folder. */
async function serverDigest(): Promise<string> {
  const folders = [
    fileURLToPath(new URL('../..', import.meta.url)),
    ...['@vouchbox/evidence', '@vouchbox/protocol'].map((name) => dirname(fileURLToPath(import.meta.resolve(name)))),
  ];
  const named = await Promise.all(folders.map(filesIn));
  const files = named.flat().sort(([one], [other]) => (one < other ? -1 : 1));
  const all = createHash('sha256');
  for (let at = 0; at < files.length; at += readAtOnce) {
    const some = files.slice(at, at + readAtOnce);
    const digests = await Promise.all(some.map(([, path]) => fileDigest(path)));
    for (const [index, [name]] of some.entries()) all.update(`${digests[index]}  ${name}\n`);
  }
  return all.digest('hex');
}

/** All files below a package's `src` or `dist`, as `server/src/index.ts`, with their paths. */
async function filesIn(folder: string): Promise<[string, string][]> {
  const whole = folder.endsWith(sep) ? folder.slice(0, -1) : folder;
  const parent = dirname(dirname(whole));
  const entries = await readdir(whole, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => [relative(parent, path).split(sep).join('/'), path]);
}

async function programDigests(): Promise<ReadonlyMap<string, string>> {
  const names = [...new Set(Object.values(PROGRAMS).flat())];
  const read = await Promise.all(
    names.map(async (name) => [name, await fileDigest(nativePath(name)).catch(() => undefined)] as const),
  );
  // A program that was not built starts no cell, so its digest is left out.
  return new Map(read.filter((entry): entry is readonly [string, string] => entry[1] !== undefined));
}

async function fileDigest(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}
