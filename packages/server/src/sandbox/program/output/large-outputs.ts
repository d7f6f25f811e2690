/**
 * The large outputs of a run: files that are read in pieces once every process of the program is dead, and standard output, which
 * is kept while it arrives. No large output is ever whole in memory. One bound holds for all of them together. An output that
 * exceeds the bound is not kept at all, so no digest covers only a part.
 */
import { closeSync, readSync } from 'node:fs';
import { streamBytesMax, type Violation } from '@vouchbox/protocol';
import { type LargeOutput, type LargeRequest, NotKept } from '../../sandbox.ts';
import type { Pipes } from './pipes.ts';
import { type OpenedFile, tooLargeTogether, type Workspace } from './workspace.ts';

/** How many bytes are read from a file at a time. */
const pieceBytes = 512 * 1024;
/** How many bytes of standard output may wait to be kept. Beyond this, no more is read, so the program waits. */
const waitingBytesMax = 2 * 2 ** 20;

interface CollectedLarge {
  readonly outputs: LargeOutput[];
  readonly violations: Violation[];
}

export class LargeOutputs {
  readonly #request: LargeRequest;
  readonly #stdout: SpooledOutput | null;

  /** Called at the release, before any output is read. `failed` is called once if standard output cannot be kept. */
  constructor(request: LargeRequest, pipes: Pick<Pipes, 'stdout'>, failed: () => void) {
    this.#request = request;
    this.#stdout = request.stdout === null ? null : new SpooledOutput(request, pipes, failed);
  }

  /**
   * Keeps what the program left. Called once, when all processes of the job are dead and all output has come. `isRecorded` says
   * whether all of standard output was recorded.
   * @throws NotKept
   */
  async collect(workspace: Workspace, isRecorded: boolean): Promise<CollectedLarge> {
    const { paths, stdout, max_bytes } = this.#request;
    const collected: CollectedLarge = { outputs: [], violations: [] };
    const spooled = await this.#stdout?.end(isRecorded);
    if (stdout !== null && spooled?.kind === 'kept') {
      const { size_bytes, sha256 } = spooled;
      collected.outputs.push({ path: stdout, size_bytes, sha256, place: paths.length });
    }
    if (stdout !== null && spooled?.kind === 'exceeds')
      collected.violations.push(tooLargeTogether(stdout, { observed: spooled.bytes, room: max_bytes, max: max_bytes }));
    for (const [place, path] of paths.entries()) await this.#take(workspace, { path, place }, collected);
    collected.outputs.sort((one, other) => one.place - other.place);
    return collected;
  }

  async #take(
    workspace: Workspace,
    { path, place }: { path: string; place: number },
    { outputs, violations }: CollectedLarge,
  ): Promise<void> {
    const opened = workspace.open(path);
    if ('type' in opened) {
      violations.push(opened);
      return;
    }
    try {
      const { max_bytes: max } = this.#request;
      const room = outputs.reduce((left, { size_bytes }) => left - size_bytes, max);
      if (opened.size > room) {
        violations.push(tooLargeTogether(path, { observed: opened.size, room, max }));
        return;
      }
      const { size_bytes, sha256 } = await kept(this.#request.keep(place, piecesOf(opened)));
      outputs.push({ path, size_bytes, sha256, place });
    } finally {
      closeSync(opened.file);
    }
  }
}

async function kept<T>(keeping: Promise<T>): Promise<T> {
  try {
    return await keeping;
  } catch (cause) {
    throw new NotKept('a large output could not be kept', { cause });
  }
}

/** The pieces of a file, together at most the size that the file had when it was opened. */
async function* piecesOf({ file, size }: OpenedFile): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < size; ) {
    const piece = Buffer.allocUnsafeSlow(Math.min(pieceBytes, size - at));
    const count = readSync(file, piece, 0, piece.length, at);
    if (count === 0) return;
    at += count;
    yield piece.subarray(0, count);
  }
}

type Spooled =
  | { readonly kind: 'kept'; readonly size_bytes: number; readonly sha256: string }
  | { readonly kind: 'exceeds'; readonly bytes: number }
  /** The output is whole in the events, so it is not kept a second time. */
  | { readonly kind: 'recorded' };

/** Keeps standard output in addition to its record. The program waits for the store, but never for a reader. */
class SpooledOutput {
  readonly #request: LargeRequest;
  readonly #pipes: Pick<Pipes, 'stdout'>;
  /** The decoder, which throws at bytes that are not UTF-8: the record of such bytes differs from what was written. */
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  readonly #keeping: Promise<Pick<LargeOutput, 'size_bytes' | 'sha256'>>;
  #isText = true;
  #bytes = 0;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #hasEnded = false;
  #more = Promise.withResolvers<void>();

  constructor(request: LargeRequest, pipes: Pick<Pipes, 'stdout'>, failed: () => void) {
    this.#request = request;
    this.#pipes = pipes;
    pipes.stdout.on('data', (chunk: Buffer) => this.#write(chunk));
    this.#keeping = request.keep(request.paths.length, this.#chunks());
    this.#keeping.catch(() => {
      this.#drop();
      failed();
    });
  }

  /** Ends the output. Call this when all output has arrived. @throws NotKept */
  async end(isRecorded: boolean): Promise<Spooled> {
    this.#decode(new Uint8Array(), false);
    const isNeeded = !isRecorded || !this.#isText;
    if (!isNeeded) this.#drop();
    this.#hasEnded = true;
    this.#more.resolve();
    const found = await kept(this.#keeping);
    if (this.#exceeds()) return { kind: 'exceeds', bytes: this.#bytes };
    return isNeeded ? { kind: 'kept', ...found } : { kind: 'recorded' };
  }

  #exceeds(): boolean {
    return this.#bytes > this.#request.max_bytes;
  }

  /** Takes bytes that were read from the pipe. The buffer is not kept. */
  #write(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    if (this.#hasEnded) return;
    if (this.#exceeds()) {
      this.#drop();
      return;
    }
    this.#decode(chunk, true);
    this.#waiting.push(Uint8Array.from(chunk));
    this.#waitingBytes += chunk.length;
    if (this.#waitingBytes > waitingBytesMax) this.#pipes.stdout.pause();
    this.#more.resolve();
  }

  /** Drops the output when nothing of it is needed any more, so that nobody waits for it. */
  #drop(): void {
    this.#hasEnded = true;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#pipes.stdout.resume();
    this.#more.resolve();
  }

  #decode(chunk: Uint8Array, stream: boolean): void {
    if (!this.#isText) return;
    try {
      this.#decoder.decode(chunk, { stream });
    } catch {
      this.#isText = false;
    }
  }

  /** The chunks to keep. They begin once the output is known to be needed, so that a short text costs the store nothing. */
  async *#chunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const isNeeded = this.#hasEnded || this.#bytes > streamBytesMax;
      const chunk = isNeeded ? this.#waiting.shift() : undefined;
      if (chunk !== undefined) {
        this.#waitingBytes -= chunk.length;
        yield chunk;
        if (this.#waitingBytes <= waitingBytesMax / 2) this.#pipes.stdout.resume();
      } else if (this.#hasEnded) return;
      else {
        this.#more = Promise.withResolvers();
        await this.#more.promise;
      }
    }
  }
}
