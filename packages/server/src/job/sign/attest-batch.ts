/**
 * Attests a few jobs from the outbox together: reads their records, signs them, and stores the attestations. A job that
 * cannot be attested is postponed and does not delay the others.
 */

import assert from 'node:assert';
import { retryDelay } from '../../ground/waiting/retry-delay.ts';
import { movedBytesMin } from '../../store/objects/content-places.ts';
import type { TerminalRecord, TerminalRecordResult } from '../../store/records/answers.ts';
import type { OutboxEntry } from '../../store/records/rows.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { Nudges } from '../nudges.ts';
import type { SigningKey } from './keys/key-files.ts';
import type { Signer } from './signer.ts';
import type { SigningResult, StorableAttestation } from './signing-messages.ts';

export interface BatchOptions {
  readonly store: Pick<Store, 'terminalRecords' | 'storeAttestation' | 'postponeAttestation'>;
  /** Returns the key that signs a batch. Throws if no key can be used. */
  readonly currentKey: () => SigningKey;
  readonly signer: Pick<Signer, 'attest'>;
  /** Whether the signed statements go into the log. */
  readonly isLogged?: boolean;
  /** Gets a nudge when stored results can be moved to an object store. */
  readonly nudges: Pick<Nudges, 'send'>;
  readonly log: Log;
}

/** The most bytes of all records in one batch together. A single job may exceed it. */
const batchBytesMax = 4 * 1024 * 1024;

/**
 * Attests the entries, or as many of the first ones as fit into one batch. The others stay in the outbox. Returns whether
 * all entries were handled.
 *
 * @throws an error that concerns every job: no key, no signing thread, or a failing store.
 */
export async function attestBatch(entries: readonly OutboxEntry[], options: BatchOptions): Promise<boolean> {
  const { store, currentKey } = options;
  const key = currentKey();
  const results = await store.terminalRecords({ keys: entries.map(keyOf), bytesMax: batchBytesMax });
  const records = results.flatMap((result) => (result.kind === 'record' ? [result.record] : []));
  const signed = (await signedOf(records, key, options))?.values();
  if (signed === undefined) {
    // A record crashed the signing thread. Each record is now tried by itself, so that only that record fails.
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

/** The results. Null if there were several records and the thread failed, because its input is then lost. */
async function signedOf(
  records: readonly TerminalRecord[],
  key: SigningKey,
  { signer, isLogged = false }: BatchOptions,
): Promise<readonly SigningResult[] | null> {
  if (records.length === 0) return [];
  try {
    return await signer.attest(records, key, { isLogged });
  } catch (error) {
    if (records.length > 1) return null;
    // If the thread cannot answer even an empty request, it cannot sign any other job.
    await signer.attest([], key);
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
    return;
  }
  if (attestation.leaf_hash !== null) options.nudges.send('log');
  if (attestation.result_artifact.length >= movedBytesMin) options.nudges.send('contents');
}

/** Postpones an attestation that may succeed later. Each time it is postponed for longer. */
async function postpone(
  entry: OutboxEntry,
  { error, cause }: { readonly error: string; readonly cause: unknown },
  options: BatchOptions,
): Promise<void> {
  const now = Date.now();
  const due_at = new Date(now + retryDelay(entry.attempts + 1)).toISOString();
  options.log.error({ job_id: entry.job_id, due_at, err: cause }, `an attestation is postponed: ${error}`);
  await options.store.postponeAttestation({ ...keyOf(entry), due_at, error, at: new Date(now).toISOString() });
}

/** Postpones an attestation until the next start, because any earlier attempt would fail, too. */
async function giveUp(entry: OutboxEntry, error: string, options: BatchOptions): Promise<void> {
  options.log.error({ job_id: entry.job_id }, `a job cannot be attested: ${error}`);
  await options.store.postponeAttestation({ ...keyOf(entry), due_at: null, error, at: new Date().toISOString() });
}

function keyOf({ tenant, job_id }: OutboxEntry) {
  return { tenant, job_id };
}
