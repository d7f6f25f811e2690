/**
 * Translates PostgreSQL's errors into the store's codes. The server's text is repeated only if the error concerns a connection or
 * a resource, because other errors may quote a value that was to be stored.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
import { StoreError, type StoreErrorCode } from '../store-error.ts';

/** The codes, keyed by SQLSTATE or by its class. */
const STATES: Readonly<Record<string, StoreErrorCode>> = {
  '08': 'unreachable', // connection exception
  '25006': 'read_only', // read_only_sql_transaction: the server is a standby
  '28': 'unopenable', // invalid authorization
  '3D000': 'unopenable', // invalid_catalog_name
  '3F000': 'unopenable', // invalid_schema_name
  '40': 'busy', // transaction rollback: serialization failure, deadlock
  '42501': 'unopenable', // insufficient_privilege
  '53100': 'full', // disk_full
  '53200': 'busy', // out_of_memory
  '53300': 'unreachable', // too_many_connections
  '55P03': 'busy', // lock_not_available
  '57': 'unreachable', // operator intervention: shutdown, crash, starting up, idle session ended
  '58': 'io', // system error
  XX001: 'corrupt', // data_corrupted
  XX002: 'corrupt', // index_corrupted
};

/** Errors from sockets and name lookups. */
const UNREACHABLE: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** Errors for a lost connection. The driver has no codes for them. */
const LOST = /^(Connection terminated|Client (has encountered|was closed)|timeout expired|Query read timeout)/;
const UNTRUSTED = /SSL|certificate|self-signed/i;

const MEANINGS: Partial<Record<StoreErrorCode, string>> = {
  unreachable: 'the database cannot be reached',
  unopenable: 'the database cannot be used',
  read_only: 'the database can be read but not written',
  busy: 'the database cannot take this now',
  full: 'no space is left for the database',
  io: 'the database could not be read or written',
  corrupt: 'the database is damaged',
};

/** The `StoreError` for anything that a query or a connection threw. A `StoreError` is returned unchanged. */
export function storeErrorOf(thrown: unknown): StoreError {
  if (thrown instanceof StoreError) return thrown;
  const { message, state } = described(thrown);
  const code = codeOf(message, state);
  if (state !== null && code === 'internal') return new StoreError(code, `the store failed (SQLSTATE ${state})`);
  return new StoreError(code, `${MEANINGS[code] ?? 'the store failed'} (${message.replace(/\s+/g, ' ')})`, {
    cause: thrown,
  });
}

/** Whether the error means that the connection is gone and no more answers will arrive on it. */
export function isLoss(thrown: unknown): boolean {
  return storeErrorOf(thrown).code === 'unreachable';
}

/**
 * The errors of changes that collide: a deadlock; a serialization failure; a duplicate key, if another node stored it after this
 * node looked for it; a null, if another node stored a tenant's row, as `jobs/tenants.ts` explains.
 */
const COLLISIONS: ReadonlySet<string> = new Set(['40P01', '40001', '23505', '23502']);

/** Whether a change conflicted with another session's change, and so may succeed when it is made again. */
export function isCollision(thrown: unknown): boolean {
  return COLLISIONS.has(described(thrown).state ?? '');
}

interface Described {
  readonly message: string;
  /** The SQLSTATE or the code of the operating system; null if the error has neither. */
  readonly state: string | null;
}

/** Describes an error. A host name's addresses are tried one after the other, and each failed try has its own error. */
function described(thrown: unknown): Described {
  const first = thrown instanceof AggregateError ? (thrown.errors[0] as unknown) : thrown;
  const message = first instanceof Error ? first.message : String(first);
  const state = first instanceof Error && 'code' in first && typeof first.code === 'string' ? first.code : null;
  return { message, state };
}

function codeOf(message: string, state: string | null): StoreErrorCode {
  if (LOST.test(message) || (state !== null && UNREACHABLE.has(state))) return 'unreachable';
  if (state === null || state.startsWith('ERR_') || !/^[0-9A-Z]{5}$/.test(state)) {
    return UNTRUSTED.test(message) ? 'unopenable' : 'internal';
  }
  return STATES[state] ?? STATES[state.slice(0, 2)] ?? 'internal';
}
