/**
 * The thread that signs. Digesting and writing down a result of many megabytes takes as long as many requests, so it is
 * not done where requests are answered.
 */
import assert from 'node:assert';
import { sign } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import type { EnvelopeSigner } from '@svc/evidence';
import type { TerminalRecord } from '../../store/store.ts';
import { attestRecord } from './attest-record.ts';
import type { SigningAnswer, SigningRequest, SigningResult } from './signing-messages.ts';

const port = parentPort;
assert(port !== null, 'the signer runs as a thread');

port.on('message', ({ id, key, records }: SigningRequest) => {
  const signer: EnvelopeSigner = {
    key_id: key.key_id,
    sign: (message) => new Uint8Array(sign(null, message, key.privateKey)),
  };
  const results = records.map((record) => resultOf(record, signer));
  const bytes = results.flatMap((result) =>
    result.kind === 'attested' ? [result.attestation.result.buffer, result.attestation.envelope.buffer] : [],
  );
  port.postMessage({ id, results } satisfies SigningAnswer, bytes);
});

function resultOf(record: TerminalRecord, signer: EnvelopeSigner): SigningResult {
  try {
    return attestRecord(record, signer);
  } catch (error) {
    return { kind: 'failed', stack: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
