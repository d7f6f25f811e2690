/** Translates SQLite's errors into the store's codes. https://www.sqlite.org/rescode.html */
import { StoreError, type StoreErrorCode } from '../store-error.ts';

/** The low byte of an extended result code is its primary code. */
const PRIMARY_CODE_MASK = 0xff;

const CODES: Readonly<Record<number, StoreErrorCode>> = {
  3: 'unopenable', // SQLITE_PERM
  5: 'busy', // SQLITE_BUSY
  6: 'busy', // SQLITE_LOCKED
  8: 'read_only', // SQLITE_READONLY
  10: 'io', // SQLITE_IOERR
  11: 'corrupt', // SQLITE_CORRUPT
  13: 'full', // SQLITE_FULL
  14: 'unopenable', // SQLITE_CANTOPEN
  15: 'io', // SQLITE_PROTOCOL: the locks of the write-ahead log do not work
  26: 'unrecognised', // SQLITE_NOTADB
};

/** SQLITE_IOERR_SHMSIZE: the shared index of the write-ahead log could not grow, for lack of space. */
const IOERR_SHMSIZE = 4874;

/** The codes for system errors in file operations that do not go through SQLite. */
const SYSTEM_CODES: Readonly<Record<string, StoreErrorCode>> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  EROFS: 'read_only',
  EIO: 'io',
  EACCES: 'unopenable',
  EPERM: 'unopenable',
  ENOENT: 'unopenable',
  ENOTDIR: 'unopenable',
  EISDIR: 'unopenable',
  ELOOP: 'unopenable',
};

const MEANINGS: Partial<Record<StoreErrorCode, string>> = {
  full: 'no space is left for the store',
  io: 'the store could not be read or written',
  corrupt: 'the store is damaged',
  read_only: 'the store cannot be written: it is read-only',
  busy: 'the store is locked by another process',
  unrecognised: 'the file is not a database',
  unopenable: 'the store cannot be opened',
};

/** The `StoreError` for anything that a query threw. A `StoreError` is returned unchanged. */
export function storeErrorOf(thrown: unknown): StoreError {
  if (thrown instanceof StoreError) return thrown;
  const code = codeOf(thrown);
  const detail = thrown instanceof Error ? thrown.message : String(thrown);
  return new StoreError(code, `${MEANINGS[code] ?? 'the store failed'} (${detail})`, { cause: thrown });
}

function codeOf(thrown: unknown): StoreErrorCode {
  if (!(thrown instanceof Error)) return 'internal';
  if ('errcode' in thrown && typeof thrown.errcode === 'number') {
    if (thrown.errcode === IOERR_SHMSIZE) return 'full';
    return CODES[thrown.errcode & PRIMARY_CODE_MASK] ?? 'internal';
  }
  return ('code' in thrown && SYSTEM_CODES[String(thrown.code)]) || 'internal';
}
