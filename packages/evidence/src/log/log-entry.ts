/**
 * The log's entry for a signed statement: the body of Rekor's type `dsse`, version 0.0.1, in canonical JSON (RFC 8785). The entry
 * follows from the stored envelope and the key, so the log keeps only the entry's hash. No other type may ever be added to a log
 * with heads in Rekor's form: verifiers in use would accept a `hashedrekord` entry there, even for another job.
 */
import { sha256Hex } from '#sha256';
import { encodeBase64 } from '../base64.ts';
import { canonicalJson } from '../canonical-json.ts';
import type { Envelope, EnvelopeSignature } from '../dsse.ts';
import { type PinnedKey, pemOf } from '../public-key.ts';
import { type Hash, leafHash } from './tree.ts';

export const LOG_ENTRY_KIND = { kind: 'dsse', version: '0.0.1' } as const;

/** An envelope as it is stored, and which of its signatures the log covers. */
export interface SignedStatement {
  /** The stored bytes. */
  readonly bytes: Uint8Array;
  readonly envelope: Envelope;
  readonly signature: EnvelopeSignature;
  readonly key: PinnedKey;
}

export function logEntryBody({ bytes, envelope, signature, key }: SignedStatement): Uint8Array<ArrayBuffer> {
  const verifier = encodeBase64(new TextEncoder().encode(pemOf(key.raw)));
  const body = canonicalJson({
    apiVersion: LOG_ENTRY_KIND.version,
    kind: LOG_ENTRY_KIND.kind,
    spec: {
      envelopeHash: { algorithm: 'sha256', value: sha256Hex(bytes) },
      payloadHash: { algorithm: 'sha256', value: sha256Hex(envelope.payload) },
      signatures: [{ signature: encodeBase64(signature.sig), verifier }],
    },
  });
  return new TextEncoder().encode(body);
}

/** The hash of the statement's leaf. */
export function logLeaf(statement: SignedStatement): Hash {
  return leafHash(logEntryBody(statement));
}
