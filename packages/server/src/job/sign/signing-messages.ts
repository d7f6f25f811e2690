/** The messages between the service's thread and the thread that signs. */
import type { KeyObject } from 'node:crypto';
import type { Attestation, AttestResult, PinnedKey, Signed, Unsigned } from '@vouchbox/evidence';
import type { TerminalRecord } from '../../store/records/answers.ts';

/**
 * Records to be attested with one key, or other statements to be signed with it. The key is passed as a handle; its bytes are
 * not copied.
 */
export interface SigningRequest {
  readonly id: number;
  readonly key: { readonly key_id: string; readonly privateKey: KeyObject };
  /** The public half, if the statements are to be logged. */
  readonly loggedKey: PinnedKey | null;
  readonly records: readonly TerminalRecord[];
  readonly statements: readonly Unsigned[];
}

/** An attestation as the store takes it: the result, perhaps compressed, and its size as it was signed. */
export interface StorableAttestation extends Omit<Attestation, 'result'> {
  readonly result_artifact: Uint8Array<ArrayBuffer>;
  readonly result_size_bytes: number;
}

/** The result for one record. `failed` means a bug, and has the error that was thrown. */
export type SigningResult =
  | Exclude<AttestResult, { readonly kind: 'attested' }>
  | { readonly kind: 'attested'; readonly attestation: StorableAttestation }
  | { readonly kind: 'failed'; readonly stack: string };

/** The results of a request, in the order of its records and of its statements. */
export interface SigningAnswer {
  readonly id: number;
  readonly results: readonly SigningResult[];
  readonly signed: readonly Signed[];
}
