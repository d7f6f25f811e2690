/**
 * Sealing and checking a receipt. The seal is a digest and not a signature. It shows that a receipt is unchanged, but not who
 * wrote it. Spec § Receipt, `receipt_sha256`.
 */

import type { Receipt } from '@vouchbox/protocol';
import { sha256Hex } from '#sha256';
import { canonicalJson } from './canonical-json.ts';

/** A receipt that has no digest yet. */
export type UnsealedReceipt = Omit<Receipt, 'receipt_sha256'>;

/** A sealed receipt and its canonical text. The text is stored once and served unchanged. */
export interface SealedReceipt {
  readonly receipt: Receipt;
  readonly json: string;
  readonly receipt_sha256: string;
}

/** The text that a receipt's digest covers: its RFC 8785 form without `receipt_sha256`. */
export function receiptText(receipt: object): string {
  const { receipt_sha256: _digest, ...covered } = receipt as Readonly<Record<string, unknown>>;
  return canonicalJson(covered);
}

/** Completes a receipt with its digest. */
export function sealReceipt(unsealed: UnsealedReceipt): SealedReceipt {
  const receipt_sha256 = sha256Hex(receiptText(unsealed));
  const receipt: Receipt = { ...unsealed, receipt_sha256 };
  return { receipt, json: canonicalJson(receipt), receipt_sha256 };
}

export type ReceiptVerification =
  | { readonly kind: 'intact'; readonly receipt_sha256: string }
  /** `found` is null if the receipt has no canonical form. */
  | { readonly kind: 'broken'; readonly stated: unknown; readonly found: string | null };

/** Recomputes the digest of a receipt of any version, and compares it with the digest that the receipt states. */
export function verifyReceipt(receipt: Readonly<Record<string, unknown>>): ReceiptVerification {
  const stated = receipt['receipt_sha256'];
  const found = recomputedDigest(receipt);
  return found !== null && found === stated
    ? { kind: 'intact', receipt_sha256: found }
    : { kind: 'broken', stated, found };
}

function recomputedDigest(receipt: object): string | null {
  try {
    return sha256Hex(receiptText(receipt));
  } catch {
    return null;
  }
}
