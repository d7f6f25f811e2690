/** Operations on signed evidence: exact stored bytes, and the key that signed them. Spec § Endpoints. */
import { ENVELOPE_MEDIA_TYPE, LOG_MEDIA_TYPE, RESULT_MEDIA_TYPE } from '@vouchbox/protocol';
import { ServiceError } from '../../ground/service-error.ts';
import type { ExactBytes } from '../../job/view/attestation.ts';
import type { Handlers } from '../call/call.ts';
import { sendBytes, sendJson } from '../call/respond.ts';
import type { RouteContext } from './context.ts';
import { Waiting } from './waiting.ts';

type EvidenceOperation =
  | 'getAttestation'
  | 'getResultArtifact'
  | 'getLogProof'
  | 'getPromise'
  | 'getPending'
  | 'getCanary'
  | 'getPublicKey';

/** The handlers for signed evidence. They send stored bytes without decoding them, under the same bounds as a job's detail. */
export function attestationHandlers({ jobs, service }: RouteContext): Handlers<EvidenceOperation> {
  return {
    getAttestation: async (call) => {
      call.holdWatched('response');
      const stored = await jobs.attestation(call.caller, call.job_id, 'envelope');
      return sendBytes(call, 200, { mediaType: ENVELOPE_MEDIA_TYPE, bytes: viewOf(stored) }, digestOf(stored));
    },
    getResultArtifact: async (call) => {
      call.holdWatched('response');
      const stored = await jobs.attestation(call.caller, call.job_id, 'result_artifact');
      return sendBytes(call, 200, { mediaType: RESULT_MEDIA_TYPE, bytes: viewOf(stored) }, digestOf(stored));
    },
    getLogProof: async (call) => {
      const proof = await jobs.logProof(call.caller, call.job_id);
      return sendBytes(call, 200, { mediaType: LOG_MEDIA_TYPE, bytes: viewOf(proof) }, digestOf(proof));
    },
    async getPromise(call) {
      const { wait_seconds: waitSeconds } = call.readQuery();
      const waiting = new Waiting(call, waitSeconds);
      const promise = await waiting.ask(
        (signal) => jobs.promise(call.caller, call.job_id, { waitSeconds, signal }),
        () => true,
      );
      return sendBytes(call, 200, { mediaType: ENVELOPE_MEDIA_TYPE, bytes: viewOf(promise) }, digestOf(promise));
    },
    getPending: async (call) => sendJson(call, 200, await jobs.pending(call.caller, call.job_id)),
    getCanary: async (call) => {
      call.holdWatched('response');
      const stored = await jobs.canary(call.caller, call.job_id);
      return sendBytes(call, 200, { mediaType: ENVELOPE_MEDIA_TYPE, bytes: viewOf(stored) }, digestOf(stored));
    },
    getPublicKey: async (call) => {
      const key = service.publicKey();
      if (key === null) throw new ServiceError('attestation_disabled', 'The operator has turned signing off.');
      return sendJson(call, 200, key);
    },
  };
}

function viewOf({ bytes }: ExactBytes): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

function digestOf({ sha256 }: ExactBytes) {
  return { 'X-Content-Sha256': sha256 };
}
