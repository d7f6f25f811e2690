/** Builds the parts that sign. There are none if the operator has turned signing off or this node does not sign. */

import { StartError } from '../ground/start-error.ts';
import { LogKeeper } from '../job/log/log-keeper.ts';
import { readWitnesses } from '../job/log/witnesses.ts';
import type { Nudges } from '../job/nudges.ts';
import { Attestor } from '../job/sign/attestor.ts';
import type { SigningKey } from '../job/sign/keys/key-files.ts';
import { agreedKeys, refuseSecondKey } from '../job/sign/keys/shared-keys.ts';
import { SigningKeyError } from '../job/sign/keys/signing-key-error.ts';
import { type KnownKey, knownKeys, openSigningKeys, type SigningKeys } from '../job/sign/keys/signing-keys.ts';
import { PromiseKeeper } from '../job/sign/promise-keeper.ts';
import type { Config } from '../settings/config.ts';
import type { Store } from '../store/store.ts';
import type { Log } from '../telemetry/log/log.ts';

export interface OpenSigningOptions {
  readonly config: Pick<Config, 'attestationMode' | 'dataDir' | 'roles' | 'logHost' | 'logWitnesses' | 'promises'>;
  readonly store: Store;
  readonly nudges: Nudges;
  readonly log: Log;
  /** See `AttestorOptions`. */
  readonly isOurTurn?: () => boolean;
  readonly onProblemChange?: () => void;
}

/** The keys, and the loops that sign. The loops are not started yet. */
export interface OpenSigning {
  readonly keys: SigningKeys & Pick<PublicKeys, 'learn'>;
  readonly attestor: Attestor;
  /** The keeper of the log, not started yet; null if no log is kept. */
  readonly logKeeper: LogKeeper | null;
  /** The keeper of promises, not started yet; null if nothing is promised. It signs with the attestor's thread. */
  readonly promiseKeeper: PromiseKeeper | null;
}

/**
 * Opens the keys, and makes the first key if there never was one. If signing is off, no key is made. Jobs that end then
 * still get an outbox row, and are signed once signing is turned on.
 *
 * @throws StartError if a key must not be used as it is stored
 */
export async function openSigning({ config, ...options }: OpenSigningOptions): Promise<OpenSigning | null> {
  if (config.attestationMode === 'off' || !config.roles.includes('signer')) return null;
  const { fleet } = options.store;
  try {
    if (fleet !== null && knownKeys(config.dataDir).length === 0) await refuseSecondKey(fleet);
    const own = openSigningKeys(config.dataDir);
    const retired = knownKeys(config.dataDir).filter(({ isCurrent }) => !isCurrent);
    const keys = fleet === null ? own : await agreedKeys(own, fleet, retired);
    const { dataDir, logHost: host } = config;
    const witnesses = config.logWitnesses === null ? [] : readWitnesses(config.logWitnesses);
    const logKeeper = host === null ? null : new LogKeeper({ ...options, dataDir, host, keys, witnesses });
    const attestor = new Attestor({ ...options, keys, isLogged: logKeeper !== null });
    const { promises } = config;
    const promiseKeeper = promises && new PromiseKeeper({ ...options, ...promises, keys, signer: attestor.signer });
    return { keys, attestor, logKeeper, promiseKeeper };
  } catch (error) {
    if (!(error instanceof SigningKeyError)) throw error;
    throw new StartError(error.message, { cause: error, ...(error.hint !== null && { hint: error.hint }) });
  }
}

/** The public keys for earlier signatures. */
export interface PublicKeys extends Pick<SigningKeys, 'publicKey'> {
  /** The key that signs now or signed last; null if no key ever signed. */
  published(): Pick<SigningKey, 'key_id' | 'public_key_pem'> | null;
  /** Learns a key that another node signed with. Absent if there are no other nodes. */
  learn?(key_id: string): Promise<void>;
}

interface FormerKeysOptions {
  readonly config: Pick<Config, 'dataDir'>;
  readonly log: Log;
}

/** The earlier keys of a service that does not sign now. Keys that cannot be used are left out. */
export function openFormerKeys({ config, log }: FormerKeysOptions): PublicKeys {
  const known = formerKeys(config.dataDir, log);
  const last = known.find(({ isCurrent }) => isCurrent) ?? known.at(-1) ?? null;
  return {
    published: () => last,
    publicKey: (key_id) => known.find((key) => key.key_id === key_id)?.pinned ?? null,
  };
}

function formerKeys(dataDir: string, log: Log): readonly KnownKey[] {
  try {
    return knownKeys(dataDir);
  } catch (error) {
    if (!(error instanceof SigningKeyError)) throw error;
    log.warn({ err: error }, 'earlier signatures cannot be checked, and are not served');
    return [];
  }
}
