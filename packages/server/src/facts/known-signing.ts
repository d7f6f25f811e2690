/**
 * What a node knows about signing in its service: the keys, and what prevents signatures. A node without the role `signer` has no
 * private key. It reads the public keys from the store.
 */
import { RegisteredKeys } from '../job/sign/keys/shared-keys.ts';
import type { Config } from '../settings/config.ts';
import { type OpenSigning, openFormerKeys, type PublicKeys } from '../start/open-signing.ts';
import type { Fleet } from '../store/fleet.ts';
import type { Store } from '../store/store.ts';
import type { Log } from '../telemetry/log/log.ts';
import { logFactsOf, signingProblemOf } from './fleet-facts.ts';
import type { Signing } from './signer-facts.ts';

export interface KnownSigning {
  /** Null if the operator has turned signing off. */
  readonly known: Signing | null;
  /** The public halves of all keys that have signed. */
  readonly keys: PublicKeys;
}

export interface KnownSigningOptions {
  readonly config: Pick<Config, 'attestationMode' | 'dataDir'>;
  readonly store: Pick<Store, 'fleet'>;
  /** The parts of this node that sign; null if this node does not sign. */
  readonly signing: OpenSigning | null;
  readonly log: Log;
}

export async function openKnownSigning({ config, store, signing, log }: KnownSigningOptions): Promise<KnownSigning> {
  const { fleet } = store;
  if (config.attestationMode === 'off') return { known: null, keys: openFormerKeys({ config, log }) };
  if (fleet === null) return { known: signing, keys: signing?.keys ?? openFormerKeys({ config, log }) };
  const keys = signing?.keys ?? (await keysOfOthers(fleet));
  const attestor = {
    get problem() {
      return signingProblemOf(fleet);
    },
  };
  const logKeeper = {
    get problem() {
      return logFactsOf(fleet).problem;
    },
    get witnesses() {
      return logFactsOf(fleet).witnesses;
    },
  };
  return { known: { keys, attestor, logKeeper }, keys };
}

/** The keys that other nodes sign with. When a node's beat names a new key, the key is read from the store. */
async function keysOfOthers(fleet: Fleet): Promise<PublicKeys> {
  const registered = new RegisteredKeys(fleet);
  await registered.refresh();
  fleet.listen({
    beat({ nodes }) {
      const used = nodes.map(({ facts }) => facts?.signs_with).find(Boolean);
      // If this fails, the next beat tries it again.
      if (used && used !== registered.last?.key_id) void registered.refresh().catch(() => {});
    },
  });
  return {
    published: () => registered.last,
    publicKey: (key_id) => registered.publicKey(key_id),
    learn: (key_id) => registered.learn(key_id),
  };
}
