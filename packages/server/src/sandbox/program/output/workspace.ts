/**
 * The host's access to a cell's `/work`. The workspace writes the program and its inputs before the program runs, and reads the
 * requested outputs after all processes of the job are dead. It holds the directory open and walks from there one name at a time
 * without following links, so that the host never follows a path that a program shaped.
 */

import { closeSync, constants, fstatSync, mkdirSync, openSync, readSync, type Stats, writeFileSync } from 'node:fs';
import { sha256Hex } from '@vouchbox/evidence';
import {
  directoryOfPattern,
  fileBytesMax,
  filesMax,
  filesTotalBytesMax,
  sizeText,
  type Violation,
} from '@vouchbox/protocol';
import type { CollectedArtifact, InputContent, Program } from '../../sandbox.ts';
import { LANGUAGE_RUNS } from '../language-runs.ts';
import { PRODUCT } from '../stages.ts';
import { holdsFileOf } from './full-file.ts';
import { type Below, outputsBelow } from './outputs-below.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** The collected outputs, and the violations for outputs that are missing. */
interface Collected {
  readonly artifacts: CollectedArtifact[];
  readonly violations: Violation[];
}

/** A regular file that the program left, opened and positioned at its start. */
export interface OpenedFile {
  readonly file: number;
  readonly size: number;
}

/** An open directory, which stays reachable after its mount namespace is gone. */
export class Workspace implements Disposable {
  #descriptor: number | null;
  readonly #mayShareFiles: boolean;
  /** The name and size of the program's file. */
  #source = { name: '', bytes: 0 };
  #hasProduct = false;

  /**
   * Opens `path`, which must not yet be reachable by any program. `fileSystem` is `own` if it can hold only files of
   * this cell. On such a file system the job made every hard link, so an output with several names is collected. On a
   * `shared` one, such an output is refused, because the file may belong to the host.
   */
  constructor(path: string, fileSystem: 'own' | 'shared') {
    this.#descriptor = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    this.#mayShareFiles = fileSystem === 'own';
  }

  /** Writes the source and the input files. Called once, before the program runs. Rejects if a file's content cannot be read. */
  async fill(program: Program): Promise<void> {
    const { source } = LANGUAGE_RUNS[program.language];
    const code = Buffer.from(program.code);
    this.#source = { name: source, bytes: code.length };
    await writeNew(childOf(this.#directory, source), code);
    this.#hasProduct = program.product !== undefined;
    if (program.product !== undefined) await writeNew(childOf(this.#directory, PRODUCT), program.product, 0o755);
    for (const file of program.files) await writeNew(this.#inputPath(file.path.split('/')), file.content);
  }

  /**
   * Reads the requested outputs. Called once, after all processes of the job are dead. An output that is missing,
   * special, behind a symbolic link or too large gives a violation that names it; the others are still collected. A
   * sparse file counts with its whole size, and its holes are read as zeros. Files with exact names come first, then
   * those that match patterns: each once, and none that is in `others`. Spec § Job submission, path rules.
   */
  collect(outputs: readonly string[], others: readonly string[] = []): Collected {
    const collected: Collected = { artifacts: [], violations: [] };
    const seen = new Set<string>(others);
    const patterns = outputs.filter((output) => directoryOfPattern(output) !== null);
    for (const path of outputs.filter((output) => !patterns.includes(output))) {
      seen.add(path);
      this.#take(path, collected);
    }
    for (const pattern of patterns) this.#collectBelow(pattern, collected, seen);
    return collected;
  }

  /**
   * Whether the program left a file of exactly this size. Called once all processes of the job are dead. The answer is false on a
   * file system that is not the cell's own.
   */
  holdsFileOf(bytes: number): boolean {
    const { name, bytes: sourceBytes } = this.#source;
    const own = ['input', ...(sourceBytes === bytes ? [name] : []), ...(this.#hasProduct ? [PRODUCT] : [])];
    return this.#mayShareFiles && holdsFileOf(this.#directory, bytes, own);
  }

  /** The content of a file directly in `/work`, at most `bytesMax` bytes; null if there is no such file. */
  read(name: string, bytesMax: number): Buffer | null {
    const opened = this.#open(name);
    if (typeof opened !== 'number') return null;
    try {
      return fstatSync(opened).isFile() ? readWhole(opened, bytesMax) : null;
    } finally {
      closeSync(opened);
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#directory);
    this.#descriptor = null;
  }

  /** The directory's descriptor while it is open. After the close, the number may belong to another cell's directory. */
  get #directory(): number {
    if (this.#descriptor === null) throw new Error('the cell is gone');
    return this.#descriptor;
  }

  /** The path of an input file, in directories that exist now. */
  #inputPath(names: readonly string[]): string {
    const path = names.slice(0, -1).reduce((parent, name) => {
      const directory = `${parent}/${name}`;
      makeDirectory(directory);
      return directory;
    }, `/proc/self/fd/${this.#directory}`);
    return `${path}/${names.at(-1)}`;
  }

  #take(path: string, { artifacts, violations }: Collected): void {
    const total = artifacts.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
    const found = this.#read(path, filesTotalBytesMax - total);
    if ('type' in found) violations.push(found);
    else artifacts.push(found);
  }

  /** Collects as many files as fit, in the order of their paths. All files that are left out share one violation. */
  #collectBelow(pattern: string, collected: Collected, seen: Set<string>): void {
    const { paths, violations } = this.#below(directoryOfPattern(pattern) as string);
    collected.violations.push(...violations);
    const wanted = paths.filter((path) => !seen.has(path));
    const violationsMax = collected.violations.length + filesMax;
    for (const [index, path] of wanted.entries()) {
      if (collected.artifacts.length === filesMax || collected.violations.length === violationsMax) {
        collected.violations.push(tooMany(pattern, wanted.length - index, paths.length));
        return;
      }
      seen.add(path);
      this.#take(path, collected);
    }
  }

  #below(path: string): Below {
    const directory = this.#open(path);
    if (typeof directory !== 'number') return { paths: [], violations: [directory] };
    try {
      if (fstatSync(directory).isDirectory()) return outputsBelow(directory, path);
      return { paths: [], violations: [unopened(path, 'ENOTDIR')] };
    } finally {
      closeSync(directory);
    }
  }

  /** Opens an output, under the same conditions as `collect`. The caller closes it. */
  open(path: string): OpenedFile | Violation {
    const file = this.#open(path);
    if (typeof file !== 'number') return file;
    const status = fstatSync(file);
    const problem = this.#kindProblem(status);
    if (problem === null) return { file, size: status.size };
    closeSync(file);
    return { type: 'output_kind', message: `${path} ${problem}`, path };
  }

  #kindProblem(status: Stats): string | null {
    if (!status.isFile()) return 'is not a regular file';
    return status.nlink !== 1 && !this.#mayShareFiles ? 'has other names: it is hard-linked' : null;
  }

  #read(path: string, room: number): CollectedArtifact | Violation {
    const opened = this.open(path);
    if ('type' in opened) return opened;
    const { file, size } = opened;
    try {
      if (size > fileBytesMax) return tooLarge(path, fileBytesMax, size);
      if (size > room) return tooLargeTogether(path, { observed: size, room, max: filesTotalBytesMax });
      return artifactOf(path, readWhole(file, size));
    } finally {
      closeSync(file);
    }
  }

  /** Walks down from the held directory. A link anywhere on the way ends the walk. */
  #open(path: string): number | Violation {
    const names = path.split('/');
    let directory = this.#directory;
    try {
      for (const [index, name] of names.entries()) {
        const last = index === names.length - 1;
        const flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | (last ? 0 : O_DIRECTORY);
        const next = openSync(childOf(directory, name), flags);
        if (directory !== this.#directory) closeSync(directory);
        directory = next;
      }
      return directory;
    } catch (error) {
      if (directory !== this.#directory) closeSync(directory);
      return unopened(path, (error as NodeJS.ErrnoException).code ?? 'unknown');
    }
  }
}

/** Makes one directory in an existing parent. Node's recursive `mkdir` would never end if a descriptor on the path is closed. */
function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o755 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** A name in an open directory. The kernel resolves `/proc/self/fd/N` to the directory itself, wherever it is mounted. */
function childOf(directory: number, name: string): string {
  return `/proc/self/fd/${directory}/${name}`;
}

async function writeNew(path: string, content: InputContent['content'], mode = 0o644): Promise<void> {
  const file = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  try {
    if (content instanceof Uint8Array) writeFileSync(file, content);
    else for await (const piece of content) writeFileSync(file, piece);
  } finally {
    closeSync(file);
  }
}

function readWhole(file: number, size: number): Buffer {
  const content = Buffer.alloc(size);
  let at = 0;
  while (at < size) {
    const count = readSync(file, content, at, size - at, at);
    if (count === 0) break;
    at += count;
  }
  return content.subarray(0, at);
}

function artifactOf(path: string, content: Buffer): CollectedArtifact {
  const sha256 = sha256Hex(content);
  return { path, size_bytes: content.byteLength, sha256, content };
}

function tooLarge(path: string, limit: number, observed: number): Violation {
  return { type: 'output_size', message: `${path} is larger than ${sizeText(limit)}`, path, limit, observed };
}

export function tooLargeTogether(
  path: string,
  { observed, room, max: limit }: { readonly observed: number; readonly room: number; readonly max: number },
): Violation {
  const message = `${path} does not fit: all outputs together may hold ${sizeText(limit)}, and ${sizeText(room)} are left`;
  return { type: 'output_size', message, path, limit, observed };
}

function tooMany(pattern: string, left: number, observed: number): Violation {
  const message = `${left} of the files below did not come back: at most ${filesMax} files can`;
  return { type: 'output_count', message, path: pattern, limit: filesMax, observed };
}

function unopened(path: string, code: string): Violation {
  switch (code) {
    case 'ENOENT':
      return { type: 'output_missing', message: `${path} was not written`, path };
    case 'ELOOP':
      return { type: 'output_path', message: `${path} leads through a symbolic link`, path };
    case 'ENOTDIR':
      return { type: 'output_path', message: `${path} leads through something that is not a directory`, path };
    case 'ENXIO':
    case 'ENODEV':
      return { type: 'output_kind', message: `${path} is not a regular file`, path };
    default:
      return { type: 'output_path', message: `${path} cannot be opened (${code})`, path };
  }
}
