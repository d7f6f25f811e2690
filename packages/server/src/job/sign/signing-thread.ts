/**
 * The signing thread. Digesting and writing a result of many megabytes takes as long as answering many requests, so the
 * thread that answers requests does not do it.
 */
import assert from 'node:assert';
import { sign } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { type AttestResult, type EnvelopeSigner, signStatement } from '@vouchbox/evidence';
import { giveBack } from '../../ground/give-back.ts';
import { IdleMemory } from '../../ground/idle-memory.ts';
import { compressed } from '../../store/history/compressed.ts';
import type { TerminalRecord } from '../../store/records/answers.ts';
import { attestRecord } from './attest-record.ts';
import type { SigningAnswer, SigningRequest, SigningResult } from './signing-messages.ts';

/** Returns unused memory, for the life of the thread. */
new IdleMemory();

const port = parentPort;
assert(port !== null, 'the signer runs as a thread');

port.on('message', ({ id, key, loggedKey, records, statements }: SigningRequest) => {
  const signer: EnvelopeSigner = {
    key_id: key.key_id,
    loggedKey,
    sign: (message) => new Uint8Array(sign(null, message, key.privateKey)),
  };
  const results = records.map((record) => resultOf(record, signer));
  const signed = statements.map((statement) => signStatement(statement, signer));
  port.postMessage({ id, results, signed } satisfies SigningAnswer);
});

/** Compresses the result, so that only one large result is held uncompressed at a time. */
function storable(made: AttestResult): SigningResult {
  if (made.kind !== 'attested') return made;
  const { result, ...rest } = made.attestation;
  const result_size_bytes = result.length;
  const result_artifact = compressed(result);
  if (result_artifact !== result) giveBack(result);
  return { kind: 'attested', attestation: { ...rest, result_artifact, result_size_bytes } };
}

function resultOf(record: TerminalRecord, signer: EnvelopeSigner): SigningResult {
  try {
    return storable(attestRecord(record, signer));
  } catch (error) {
    return { kind: 'failed', stack: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
