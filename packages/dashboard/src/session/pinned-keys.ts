/** The public keys that the person trusts. Like the session's key, they are kept in memory. */
import { parsePublicKey } from '@vouchbox/evidence';
import { kept } from '../kept.ts';

export interface PinnedKey {
  readonly key_id: string;
  readonly pem: string;
}

const keys = kept<readonly PinnedKey[]>([]);
export const usePinnedKeys = keys.use;

/** Pins a key. Returns null, or why the text is not a key. */
export function pinKey(pem: string): string | null {
  const parsed = parsePublicKey(pem);
  if (parsed.kind === 'refused') return parsed.reason;
  unpinKey(parsed.key.key_id);
  keys.set([...keys.get(), { key_id: parsed.key.key_id, pem }]);
  return null;
}

export function unpinKey(key_id: string): void {
  keys.set(keys.get().filter((key) => key.key_id !== key_id));
}
