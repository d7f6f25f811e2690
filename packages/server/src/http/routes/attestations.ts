/** Operations on signed evidence: exact stored bytes, and the key they were signed with. Spec § Endpoints. */
import { ENVELOPE_MEDIA_TYPE, RESULT_MEDIA_TYPE } from '@svc/protocol';
import { ServiceError } from '../../ground/service-error.ts';
import { holdUntilAnswered } from '../answer/answer-end.ts';
import { sendBytes, sendJson } from '../answer/respond.ts';
import { callerOf, type OperationHandler, type OperationHandlers } from '../operation.ts';
import { jobIdOf } from '../request/job-id.ts';
import type { RouteContext } from './context.ts';

export function attestationHandlers(
  context: RouteContext,
): Pick<OperationHandlers, 'getAttestation' | 'getResultArtifact' | 'getPublicKey'> {
  return {
    getAttestation: exactBytes(context, 'envelope', ENVELOPE_MEDIA_TYPE),
    getResultArtifact: exactBytes(context, 'result_artifact', RESULT_MEDIA_TYPE),
    getPublicKey: async (_request, reply) => {
      const key = context.service.publicKey();
      if (key === null) throw new ServiceError('attestation_disabled', 'The operator has turned signing off.');
      return sendJson(reply, 200, key);
    },
  };
}

/** The bytes as they were stored, never decoded, under the same bounds as the detail of a job. */
function exactBytes(context: RouteContext, part: 'envelope' | 'result_artifact', mediaType: string): OperationHandler {
  return async (request, reply) => {
    holdUntilAnswered(reply, context, 'response');
    const { bytes, sha256 } = await context.jobs.attestation(callerOf(request), jobIdOf(request), part);
    reply.header('x-content-sha256', sha256);
    return sendBytes(reply, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), { status: 200, mediaType });
  };
}
