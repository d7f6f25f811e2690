/**
 * The rows of issued credentials. A key is refused as soon as its revocation has been answered. If only one process changes the
 * store, each row is read once and remembered, since it changes only through this module. If several nodes share the store,
 * nothing is remembered. Spec § Authentication 8.
 */
import type { CredentialRow } from '../store/records/rows.ts';
import type { Store } from '../store/store.ts';

export type CredentialStore = Pick<
  Store,
  'createCredential' | 'credential' | 'credentials' | 'revokeCredential' | 'rotateCredential'
>;

export interface CredentialRows extends CredentialStore {
  /** Calls `listener` after each change that can end a credential early. */
  whenEnded(listener: () => void): void;
}

/** The rows of a store that other nodes may change. A row is read whenever it is needed. */
export function sharedRows(store: CredentialStore): CredentialRows {
  const listeners: (() => void)[] = [];
  const telling = async <Result>(change: Promise<Result>): Promise<Result> => {
    const result = await change;
    for (const listener of listeners) listener();
    return result;
  };
  return {
    credential: (credential_id) => store.credential(credential_id),
    credentials: (tenant) => store.credentials(tenant),
    createCredential: (row) => store.createCredential(row),
    revokeCredential: (input) => telling(store.revokeCredential(input)),
    rotateCredential: (input) => telling(store.rotateCredential(input)),
    whenEnded: (listener) => listeners.push(listener),
  };
}

const rowsKeptMax = 1000;

/** The rows of a store. Only existing rows are remembered, so guessed identifiers take up no memory. */
export function rememberedRows(store: CredentialStore): CredentialRows {
  const kept = new Map<string, CredentialRow>();
  const listeners: (() => void)[] = [];
  /** Counts changes that began or ended. A row that was read during a change may be older than the change. */
  let turn = 0;
  let underWay = 0;
  const remember = (row: CredentialRow) => {
    kept.set(row.credential_id, row);
    const [oldest] = kept.keys();
    if (kept.size > rowsKeptMax && oldest !== undefined) kept.delete(oldest);
  };
  const forget = () => {
    turn += 1;
    kept.clear();
  };
  const changing = async <Result>(change: Promise<Result>): Promise<Result> => {
    forget();
    underWay += 1;
    try {
      return await change;
    } finally {
      underWay -= 1;
      forget();
      for (const listener of listeners) listener();
    }
  };
  return {
    async credential(credential_id) {
      const known = kept.get(credential_id);
      if (known !== undefined) return known;
      const began = turn;
      const row = await store.credential(credential_id);
      if (row !== null && turn === began && underWay === 0) remember(row);
      return row;
    },
    credentials: (tenant) => store.credentials(tenant),
    createCredential: (row) => store.createCredential(row),
    revokeCredential: (input) => changing(store.revokeCredential(input)),
    rotateCredential: (input) => changing(store.rotateCredential(input)),
    whenEnded: (listener) => listeners.push(listener),
  };
}
