/** Puts the parts together that sign, or none where the operator has turned signing off. */
import type { Config } from './config.ts';
import type { Nudges } from './job/nudges.ts';
import { Attestor } from './job/sign/attestor.ts';
import { SigningKeyError } from './job/sign/signing-key-error.ts';
import { openSigningKeys, type SigningKeys } from './job/sign/signing-keys.ts';
import { StartError } from './start-error.ts';
import type { Store } from './store/store.ts';
import type { Log } from './telemetry/log.ts';

export interface OpenSigningOptions {
  readonly config: Pick<Config, 'attestationMode' | 'dataDir'>;
  readonly store: Store;
  readonly nudges: Nudges;
  readonly log: Log;
}

/** The key that signs, and the loop that does, not yet started. */
export interface OpenSigning {
  readonly keys: SigningKeys;
  readonly attestor: Attestor;
}

/**
 * Opens the keys, making the first one where there never was any. With signing off no key is made or read; jobs still
 * leave their outbox rows, and are signed once signing is turned on.
 *
 * @throws StartError where there is a key that must not be used as it is stored.
 */
export function openSigning({ config, ...options }: OpenSigningOptions): OpenSigning | null {
  if (config.attestationMode === 'off') return null;
  try {
    const keys = openSigningKeys(config.dataDir);
    return { keys, attestor: new Attestor({ ...options, keys }) };
  } catch (error) {
    if (!(error instanceof SigningKeyError)) throw error;
    throw new StartError(error.message, { cause: error, ...(error.hint !== null && { hint: error.hint }) });
  }
}
