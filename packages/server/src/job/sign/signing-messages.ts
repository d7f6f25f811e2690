/** What passes between the service's thread and the thread that signs. */
import type { KeyObject } from 'node:crypto';
import type { AttestResult } from '@svc/evidence';
import type { TerminalRecord } from '../../store/records.ts';

/** Records to be attested with one key. The key crosses as a handle: its bytes stay where they are. */
export interface SigningRequest {
  readonly id: number;
  readonly key: { readonly key_id: string; readonly privateKey: KeyObject };
  readonly records: readonly TerminalRecord[];
}

/** What came of one record; `failed` is a bug, told as it was thrown. */
export type SigningResult = AttestResult | { readonly kind: 'failed'; readonly stack: string };

/** The results of a request, in the order of its records. */
export interface SigningAnswer {
  readonly id: number;
  readonly results: readonly SigningResult[];
}
