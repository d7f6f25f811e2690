/**
 * The thread that signs. Digesting and writing down a result of many megabytes takes as long as many requests, so it is
 * not done where requests are answered.
 */
import assert from 'node:assert';
import { sign } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import type { AttestResult, EnvelopeSigner } from '@vouchbox/evidence';
import { IdleMemory } from '../../ground/idle-memory.ts';
import { giveBack, movable } from '../../ground/movable.ts';
import { compressed } from '../../store/history/compressed.ts';
import type { TerminalRecord } from '../../store/records.ts';
import { attestRecord } from './attest-record.ts';
import type { SigningAnswer, SigningRequest, SigningResult } from './signing-messages.ts';

/** For as long as the thread is. */
new IdleMemory();

const port = parentPort;
assert(port !== null, 'the signer runs as a thread');

port.on('message', ({ id, key, records }: SigningRequest) => {
  const signer: EnvelopeSigner = {
    key_id: key.key_id,
    sign: (message) => new Uint8Array(sign(null, message, key.privateKey)),
  };
  const { results, moved } = packed(records.map((record) => resultOf(record, signer)));
  for (const { history } of records) giveBack(history);
  port.postMessage({ id, results } satisfies SigningAnswer, moved);
});

/** The same results, with all bytes that are not worth handing over alone in one buffer, and the buffers to hand over. */
function packed(results: readonly SigningResult[]): { results: SigningResult[]; moved: ArrayBuffer[] } {
  const parts = results.flatMap((result) =>
    result.kind === 'attested' ? [result.attestation.result_artifact, result.attestation.envelope] : [],
  );
  const alone = new Set<ArrayBufferLike>(movable(...parts));
  const small = parts.filter(({ buffer }) => !alone.has(buffer));
  const bytes = new ArrayBuffer(small.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  const inOne = (part: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> => {
    if (alone.has(part.buffer)) return part;
    const place = new Uint8Array(bytes, end, part.length);
    place.set(part);
    end += part.length;
    return place;
  };
  const inPlace = results.map((result): SigningResult => {
    if (result.kind !== 'attested') return result;
    const { result_artifact, envelope, ...rest } = result.attestation;
    const attestation = { ...rest, result_artifact: inOne(result_artifact), envelope: inOne(envelope) };
    return { kind: 'attested', attestation };
  });
  return { results: inPlace, moved: [bytes, ...movable(...parts)] };
}

/** The result is compressed here, so that of many large ones only the one that is signed is held whole. */
function storable(made: AttestResult): SigningResult {
  if (made.kind !== 'attested') return made;
  const { result, ...rest } = made.attestation;
  const attestation = { ...rest, result_artifact: compressed(result), result_size_bytes: result.length };
  if (attestation.result_artifact !== result) giveBack(result);
  return { kind: 'attested', attestation };
}

function resultOf(record: TerminalRecord, signer: EnvelopeSigner): SigningResult {
  try {
    return storable(attestRecord(record, signer));
  } catch (error) {
    return { kind: 'failed', stack: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
