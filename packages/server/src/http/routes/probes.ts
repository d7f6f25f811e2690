/** What a node without the role `api` answers: probes, and its metrics if the request has their token. It refuses all else. */
import type { OperationId } from '@vouchbox/protocol';
import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../ground/service-error.ts';

/** The operations of a node without the role `api`. */
export const PROBES = ['getHealth', 'getReadiness', 'getMetrics'] as const satisfies readonly OperationId[];

/** The first hook of such a node. It reads no credential. @throws ServiceError `route_not_found` for any other operation */
export async function refuseApi({ is404 }: FastifyRequest): Promise<void> {
  if (!is404) return;
  throw new ServiceError('route_not_found', 'This node does not serve the API. Ask a node with the role api.');
}
