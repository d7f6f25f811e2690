/** The messages between the service's main thread and the signing thread. */
import type { KeyObject } from 'node:crypto';
import type { Attestation, AttestResult, PinnedKey, Signed, Unsigned } from '@vouchbox/evidence';
import type { TerminalRecord } from '../../store/records/answers.ts';

/**
 * Records to attest and other statements to sign, all with one key. The key is passed as a handle, so its bytes are not
 * copied.
 */
export interface SigningRequest {
  readonly id: number;
  readonly key: { readonly key_id: string; readonly privateKey: KeyObject };
  /** The public half, if the statements go into the log. */
  readonly loggedKey: PinnedKey | null;
  readonly records: readonly TerminalRecord[];
  readonly statements: readonly Unsigned[];
}

/** An attestation in the form that the store takes: the result, perhaps compressed, and the size that was signed. */
export interface StorableAttestation extends Omit<Attestation, 'result'> {
  readonly result_artifact: Uint8Array<ArrayBuffer>;
  readonly result_size_bytes: number;
}

/** The result for one record. `failed` means that there is a bug, and carries the error that was thrown. */
export type SigningResult =
  | Exclude<AttestResult, { readonly kind: 'attested' }>
  | { readonly kind: 'attested'; readonly attestation: StorableAttestation }
  | { readonly kind: 'failed'; readonly stack: string };

/** The results for a request, in the order of its records and of its statements. */
export interface SigningAnswer {
  readonly id: number;
  readonly results: readonly SigningResult[];
  readonly signed: readonly Signed[];
}
