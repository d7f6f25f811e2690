/**
 * The signing keys of a service that has several nodes. All nodes sign with one key, so a verifier pins only one. Each node
 * that signs has the same key files in its data directory. The public halves are in the store, so that every node can check
 * what any other node signed.
 */
import { type PinnedKey, parsePublicKey } from '@vouchbox/evidence';
import type { RegisteredKey } from '../../../store/evidence/signing-keys.ts';
import type { Fleet } from '../../../store/fleet.ts';
import type { SigningKey } from './key-files.ts';
import { SigningKeyError } from './signing-key-error.ts';
import type { SigningKeys } from './signing-keys.ts';

type KeyStore = Pick<Fleet, 'registerKey' | 'registeredKeys'>;

const COPY_HINT =
  'copy the directory attestation-keys from the data directory of the node that signs, or start this one without the role signer';

/** The public halves of all keys that nodes on this store have signed with. */
export class RegisteredKeys {
  readonly #store: KeyStore;
  readonly #known = new Map<string, PinnedKey>();
  #last: RegisteredKey | null = null;

  constructor(store: KeyStore) {
    this.#store = store;
  }

  /** Reads the public halves again. */
  async refresh(): Promise<void> {
    for (const key of await this.#store.registeredKeys()) {
      this.#last = key;
      const parsed = parsePublicKey(key.public_key_pem);
      if (parsed.kind === 'key') this.#known.set(key.key_id, parsed.key);
    }
  }

  /** Learns a key, if any node has registered it. */
  async learn(key_id: string): Promise<void> {
    if (!this.#known.has(key_id)) await this.refresh();
  }

  publicKey(key_id: string): PinnedKey | null {
    return this.#known.get(key_id) ?? null;
  }

  /** The key that was registered last; null if there is none. */
  get last(): RegisteredKey | null {
    return this.#last;
  }
}

/**
 * Refuses to make a first key on a node if the service already has a key.
 *
 * @throws SigningKeyError
 */
export async function refuseSecondKey(store: KeyStore): Promise<void> {
  const key = (await store.registeredKeys()).at(-1);
  if (key === undefined) return;
  throw new SigningKeyError('missing', `this node has no signing key, and the service signs with ${key.key_id}`, {
    hint: COPY_HINT,
  });
}

/**
 * A node's keys, agreed with the other nodes. A key that replaces another is not used until its public half is stored.
 * `retired` are the older keys in the node's directory, oldest first. Every node learns these.
 *
 * @throws SigningKeyError if a living node signs with another key, unless this key replaces that key
 */
export async function agreedKeys(
  keys: SigningKeys,
  store: KeyStore,
  retired: readonly RegisteredKey[],
): Promise<SigningKeys & Pick<RegisteredKeys, 'learn'>> {
  const registered = new RegisteredKeys(store);
  const own = keys.current();
  const other = await store.registerKey({ ...publicHalf(own), isRotation: false, retired: retired.map(publicHalf) });
  if (other !== null) {
    throw new SigningKeyError('unusable', `this node would sign with ${own.key_id}, and another signs with ${other}`, {
      hint: COPY_HINT,
    });
  }
  await registered.refresh();
  let isStoring = false;
  const publish = async (key: SigningKey) => {
    if (isStoring) return;
    isStoring = true;
    try {
      await store.registerKey({ ...publicHalf(key), isRotation: true, retired: [] });
      await registered.refresh();
    } finally {
      isStoring = false;
    }
  };
  return {
    current() {
      const key = keys.current();
      if (registered.publicKey(key.key_id) !== null) return key;
      // If this fails, it is tried again at the next signature.
      void publish(key).catch(() => {});
      throw new SigningKeyError('unusable', 'the other nodes do not know the new signing key yet');
    },
    published: () => keys.published(),
    publicKey: (key_id) => keys.publicKey(key_id) ?? registered.publicKey(key_id),
    learn: (key_id) => registered.learn(key_id),
  };
}

function publicHalf({ key_id, public_key_pem }: RegisteredKey): RegisteredKey {
  return { key_id, public_key_pem };
}
