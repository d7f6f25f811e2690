/** The `{sha256}` of a path. A digest is not an authorization: the store knows whose blob it is. */
import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../ground/service-error.ts';

const DIGEST = /^[0-9a-f]{64}$/;

function given(request: FastifyRequest): string | null {
  const { sha256 } = request.params as { sha256: string };
  if (sha256 === '') throw new ServiceError('route_not_found', 'No such route.');
  return DIGEST.test(sha256) ? sha256 : null;
}

/** @throws ServiceError `blob_not_found` for text that is not a digest, as for an unknown digest */
export function blobDigestOf(request: FastifyRequest): string {
  const digest = given(request);
  if (digest !== null) return digest;
  throw new ServiceError('blob_not_found', 'No such blob belongs to the tenant.');
}

/** @throws ServiceError `invalid_request` for text that is not a digest */
export function uploadDigestOf(request: FastifyRequest): string {
  const digest = given(request);
  if (digest !== null) return digest;
  throw new ServiceError('invalid_request', 'The address must end with a SHA-256 as 64 lower-case hex digits.');
}
