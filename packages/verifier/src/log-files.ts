/** Reads the files about the log that the command line names: pinned keys, proofs and the remembered head. */
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type LogKeys, logProofBytesMax, type NoteKey, noteBytesMax, parseNoteKey } from '@vouchbox/evidence';
import { parseDuration } from './duration.ts';
import type { LogExpectation } from './log-standing.ts';
import { readWhole } from './read-file.ts';
import { UsageError } from './usage-error.ts';

/** The paths of the files about the log, and what the reader accepts from the log. */
export interface LogOptions {
  readonly logKey?: string;
  readonly witness?: readonly string[];
  readonly logState?: string;
  readonly acceptReopened?: boolean;
  readonly logConsistency?: readonly string[];
  readonly afterHead?: readonly string[];
  readonly logDelay?: string;
}

/** Reads the files. A file that cannot be read, or is not a key, causes a `UsageError`. */
export function readLog({ logKey, witness = [], logState, logConsistency = [], ...more }: LogOptions): LogExpectation {
  const { afterHead = [], logDelay, acceptReopened = false } = more;
  const given = [logState, ...logConsistency, ...witness, ...afterHead].some((path) => path !== undefined);
  if (logKey === undefined && given) throw new UsageError('requirements on the log need --log-key, the key of the log');
  if (afterHead.length > 0 && witness.length === 0)
    throw new UsageError('--after-head needs --witness: only a witness says when it saw a head');
  return {
    keys: logKey === undefined ? null : keysOf(logKey, witness),
    remembered: logState === undefined ? null : rememberedHead(logState),
    consistency: logConsistency.map(readLogFile),
    after: afterHead.map(readLogFile),
    acceptReopened,
    ...(logDelay !== undefined && { delay: parseDuration(logDelay) }),
  };
}

/** Reads a proof. A proof that is too large causes a `UsageError`. */
export function readLogProof(path: string | undefined): Uint8Array | null {
  return path === undefined ? null : readLogFile(path);
}

/** Reads a proof or a head. */
export function readLogFile(path: string): Uint8Array<ArrayBuffer> {
  return readWhole(path, logProofBytesMax);
}

function keysOf(logKey: string, witness: readonly string[]): LogKeys {
  return { log: readNoteKey(logKey, 'note'), witnesses: witness.map((path) => readNoteKey(path, 'cosignature')) };
}

/** The key of a log or of a witness, pinned in a file. */
export function readNoteKey(path: string, type: NoteKey['type']): NoteKey {
  const parsed = parseNoteKey(new TextDecoder().decode(readWhole(path, noteBytesMax)));
  if (parsed.kind === 'refused') throw new UsageError(`${path} has no key: ${parsed.reason}`);
  if (parsed.key.type === type) return parsed.key;
  throw new UsageError(
    `${path} has the key of a ${type === 'note' ? 'witness, not of a log' : 'log, not of a witness'}`,
  );
}

/** The remembered head; null if there is no file yet. */
function rememberedHead(path: string): string | null {
  return existsSync(path) ? new TextDecoder().decode(readWhole(path, noteBytesMax)) : null;
}

/** Replaces the remembered head. After a crash, the file has either the old head or the new one. */
export function rememberHead(path: string | undefined, head: string | null): void {
  if (path === undefined || head === null) return;
  const fresh = `${path}.new`;
  try {
    writeFileSync(fresh, head, { mode: 0o600, flush: true });
    renameSync(fresh, path);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw new UsageError(`${path} cannot be written: ${(error as Error).message}`, { cause: error });
  }
}
