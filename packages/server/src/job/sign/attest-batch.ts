/**
 * Attests a few jobs of the outbox together: reads their records, signs them, stores what was signed. A job that cannot be
 * attested is put off and does not hold up the others.
 */

import assert from 'node:assert';
import { retryDelay } from '../../ground/waiting/retry-delay.ts';
import type { OutboxEntry, TerminalRecord, TerminalRecordResult } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { SigningKey } from './keys/key-files.ts';
import type { Signer } from './signer.ts';
import type { SigningResult, StorableAttestation } from './signing-messages.ts';

export interface BatchOptions {
  readonly store: Pick<Store, 'terminalRecords' | 'storeAttestation' | 'postponeAttestation'>;
  /** The key to sign a batch with; throws where there is none to be used. */
  readonly currentKey: () => SigningKey;
  readonly signer: Pick<Signer, 'attest'>;
  readonly log: Log;
}

/** Bytes of the records of one batch together, save that one job alone may have more. */
const batchBytesMax = 4 * 1024 * 1024;

/**
 * Attests the entries, or as many from the front as their records leave room for: the others stay as they are. Answers
 * whether it was all of them.
 *
 * @throws what keeps every job from being attested: no key, a store that fails.
 */
export async function attestBatch(entries: readonly OutboxEntry[], options: BatchOptions): Promise<boolean> {
  const { store, signer, currentKey } = options;
  const key = currentKey();
  const results = await store.terminalRecords({ keys: entries.map(keyOf), bytesMax: batchBytesMax });
  const records = results.flatMap((result) => (result.kind === 'record' ? [result.record] : []));
  const signed = (await signedOf(records, key, signer))?.values();
  if (signed === undefined) {
    // A record took the thread that signs down with it: each is tried alone, so that only that one fails.
    for (const entry of entries.slice(0, results.length)) await attestBatch([entry], options);
    return results.length === entries.length;
  }
  const settled: Promise<void>[] = [];
  for (const [at, result] of results.entries()) {
    const entry = entries[at];
    assert(entry !== undefined, 'no more records are answered than were asked for');
    settled.push(
      result.kind === 'record'
        ? settle(entry, { record: result.record, signed: signed.next().value }, options)
        : settleUnread(entry, result, options),
    );
  }
  await Promise.all(settled);
  return results.length === entries.length;
}

/** Null if they were several and signing them failed: what was given to the thread is lost. */
async function signedOf(
  records: readonly TerminalRecord[],
  key: SigningKey,
  signer: BatchOptions['signer'],
): Promise<readonly SigningResult[] | null> {
  if (records.length === 0) return [];
  try {
    return await signer.attest(records, key);
  } catch (error) {
    if (records.length > 1) return null;
    return [{ kind: 'failed', stack: (error as Error).stack ?? String(error) }];
  }
}

type Unread = Exclude<TerminalRecordResult, { readonly kind: 'record' }>;

function settleUnread(entry: OutboxEntry, result: Unread, options: BatchOptions): Promise<void> {
  return result.kind === 'absent'
    ? giveUp(entry, 'the job has no receipt', options)
    : postpone(entry, { error: 'the record cannot be read', cause: result.message }, options);
}

interface Signed {
  readonly record: TerminalRecord;
  readonly signed: SigningResult | undefined;
}

function settle(entry: OutboxEntry, { record, signed }: Signed, options: BatchOptions): Promise<void> {
  switch (signed?.kind) {
    case 'attested':
      return store(entry, { record, attestation: signed.attestation }, options);
    case 'inconsistent':
      return giveUp(entry, signed.reason, options);
    case 'too_large':
      return giveUp(entry, `the ${signed.what} has ${signed.bytes} bytes, more than ${signed.bytesMax}`, options);
    case 'failed':
    case undefined:
      return postpone(entry, { error: 'signing failed', cause: signed?.stack }, options);
  }
}

async function store(
  entry: OutboxEntry,
  { record, attestation }: { readonly record: TerminalRecord; readonly attestation: StorableAttestation },
  options: BatchOptions,
): Promise<void> {
  const { envelope } = attestation;
  try {
    await options.store.storeAttestation({
      ...keyOf(entry),
      ...attestation,
      receipt_sha256: record.receipt_sha256,
      envelope_size_bytes: envelope.length,
      created_at: new Date().toISOString(),
    });
  } catch (cause) {
    await postpone(entry, { error: 'the attestation could not be stored', cause }, options);
  }
}

/** Puts off what may succeed another time, for longer each time. */
async function postpone(
  entry: OutboxEntry,
  { error, cause }: { readonly error: string; readonly cause: unknown },
  options: BatchOptions,
): Promise<void> {
  const now = Date.now();
  const due_at = new Date(now + retryDelay(entry.attempts + 1)).toISOString();
  options.log.error({ job_id: entry.job_id, due_at, err: cause }, `an attestation is put off: ${error}`);
  await options.store.postponeAttestation({ ...keyOf(entry), due_at, error, at: new Date(now).toISOString() });
}

/** Puts off until the next start what another attempt would not change. */
async function giveUp(entry: OutboxEntry, error: string, options: BatchOptions): Promise<void> {
  options.log.error({ job_id: entry.job_id }, `a job cannot be attested: ${error}`);
  await options.store.postponeAttestation({ ...keyOf(entry), due_at: null, error, at: new Date().toISOString() });
}

function keyOf({ tenant, job_id }: OutboxEntry) {
  return { tenant, job_id };
}
