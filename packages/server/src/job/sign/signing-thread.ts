/**
 * The thread that signs. Digesting and writing down a result of many megabytes takes as long as many requests, so it is
 * not done where requests are answered.
 */
import assert from 'node:assert';
import { sign } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import type { EnvelopeSigner } from '@svc/evidence';
import type { TerminalRecord } from '../../store/records.ts';
import { attestRecord } from './attest-record.ts';
import type { SigningAnswer, SigningRequest, SigningResult } from './signing-messages.ts';

const port = parentPort;
assert(port !== null, 'the signer runs as a thread');

port.on('message', ({ id, key, records }: SigningRequest) => {
  const signer: EnvelopeSigner = {
    key_id: key.key_id,
    sign: (message) => new Uint8Array(sign(null, message, key.privateKey)),
  };
  const { results, bytes } = packed(records.map((record) => resultOf(record, signer)));
  port.postMessage({ id, results } satisfies SigningAnswer, [bytes]);
});

/** The same results with all their bytes in one buffer: handing over many small ones costs more than copying them. */
function packed(results: readonly SigningResult[]): { results: SigningResult[]; bytes: ArrayBuffer } {
  const lengths = results.map((result) =>
    result.kind === 'attested' ? result.attestation.result.length + result.attestation.envelope.length : 0,
  );
  const bytes = new ArrayBuffer(lengths.reduce((sum, length) => sum + length, 0));
  let end = 0;
  const moved = (part: Uint8Array): Uint8Array<ArrayBuffer> => {
    const place = new Uint8Array(bytes, end, part.length);
    place.set(part);
    end += part.length;
    return place;
  };
  const inPlace = results.map((result): SigningResult => {
    if (result.kind !== 'attested') return result;
    const { result: artifact, envelope, ...rest } = result.attestation;
    return { kind: 'attested', attestation: { ...rest, result: moved(artifact), envelope: moved(envelope) } };
  });
  return { results: inPlace, bytes };
}

function resultOf(record: TerminalRecord, signer: EnvelopeSigner): SigningResult {
  try {
    return attestRecord(record, signer);
  } catch (error) {
    return { kind: 'failed', stack: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
