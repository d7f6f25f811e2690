/**
 * A witness's state: its name, and the last head that it signed for each log. The state is one file, held by one
 * process. A head is on disk before anybody gets the signature for it.
 */
import { existsSync, readFileSync } from 'node:fs';
import { type Checkpoint, noteText, parseCheckpoint } from '@vouchbox/evidence';
import { ProcessLock, replaceDurably } from '@vouchbox/server/administration';
import { UsageError } from '../failures/usage-error.ts';

export class WitnessState implements Disposable {
  readonly name: string;
  readonly #path: string;
  readonly #lock: ProcessLock;
  readonly #heads: Map<string, Checkpoint>;

  private constructor(path: string, lock: ProcessLock, { name, heads }: Known) {
    this.name = name;
    this.#path = path;
    this.#lock = lock;
    this.#heads = heads;
  }

  /** Opens the state, or makes one for a witness of this name. @throws UsageError if the file is in use or is no such state */
  static open(path: string, name: string): WitnessState {
    const lock = ProcessLock.take(`${path}.lock`);
    if (lock === null) throw new UsageError(`another witness uses ${path}`);
    try {
      const known = existsSync(path) ? knownIn(path) : { name, heads: new Map<string, Checkpoint>() };
      const state = new WitnessState(path, lock, known);
      if (!existsSync(path)) state.#write();
      return state;
    } catch (error) {
      lock[Symbol.dispose]();
      throw error;
    }
  }

  /** The last head that this witness signed for a log, with the signature line; null if it has signed none. */
  head(origin: string): Checkpoint | null {
    return this.#heads.get(origin) ?? null;
  }

  get origins(): readonly string[] {
    return [...this.#heads.keys()];
  }

  /** Stores a head. When this returns, the head is on disk. */
  keep(head: Checkpoint): void {
    this.#heads.set(head.origin, head);
    this.#write();
  }

  #write(): void {
    const heads = Object.fromEntries([...this.#heads].map(([origin, { note }]) => [origin, noteText(note)]));
    replaceDurably(this.#path, `${JSON.stringify({ name: this.name, heads }, null, 2)}\n`, 0o600);
  }

  [Symbol.dispose](): void {
    this.#lock[Symbol.dispose]();
  }
}

interface Known {
  readonly name: string;
  readonly heads: Map<string, Checkpoint>;
}

function knownIn(path: string): Known {
  try {
    const { name, heads } = JSON.parse(readFileSync(path, 'utf8')) as { name: unknown; heads: Record<string, string> };
    if (typeof name !== 'string') throw new Error('it has no name');
    return { name, heads: new Map(Object.entries(heads).map(([origin, text]) => [origin, headIn(origin, text)])) };
  } catch (cause) {
    // A witness without its state would sign heads that it must refuse.
    throw new UsageError(`${path} is not the state of a witness: ${(cause as Error).message}`, { cause });
  }
}

function headIn(origin: string, text: string): Checkpoint {
  const parsed = parseCheckpoint(text);
  if (parsed.kind === 'refused') throw new Error(`its head of ${origin} is refused: ${parsed.reason}`);
  if (parsed.checkpoint.origin !== origin) throw new Error(`its head of ${origin} belongs to another log`);
  return parsed.checkpoint;
}
