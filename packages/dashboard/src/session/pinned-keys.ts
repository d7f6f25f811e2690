/** The public keys that the person trusts. They are kept in memory, like the key of the session. */
import { parsePublicKey } from '@vouchbox/evidence';
import { useSyncExternalStore } from 'react';

export interface PinnedKey {
  readonly key_id: string;
  readonly pem: string;
}

let keys: readonly PinnedKey[] = [];
const listeners = new Set<() => void>();

function change(next: readonly PinnedKey[]): void {
  keys = next;
  for (const listener of listeners) listener();
}

/** Pins a key. Returns why the text is not a key, or null if it is now pinned. */
export function pinKey(pem: string): string | null {
  const parsed = parsePublicKey(pem);
  if (parsed.kind === 'refused') return parsed.reason;
  const { key_id } = parsed.key;
  change([...keys.filter((key) => key.key_id !== key_id), { key_id, pem }]);
  return null;
}

export function unpinKey(key_id: string): void {
  change(keys.filter((key) => key.key_id !== key_id));
}

export function usePinnedKeys(): readonly PinnedKey[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => keys,
  );
}
