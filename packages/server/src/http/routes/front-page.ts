/**
 * The answer to `GET /`: what this service is, and where its contract is. It is for people who open the address. It says
 * nothing about this service that the public operations do not say. Spec § Pages.
 */
import { ENDPOINTS, PAGES } from '@vouchbox/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

export const FRONT_PATH = PAGES.getFrontPage.path;

const PAGE = {
  name: 'Vouchbox',
  description: 'Runs short, untrusted programs in isolation and signs what happened.',
  contract: ENDPOINTS.getContract.path,
  health: ENDPOINTS.getHealth.path,
  readiness: ENDPOINTS.getReadiness.path,
  authentication: 'Paths under /v1 take Authorization: Bearer KEY.',
};

const BYTES = Buffer.from(`${JSON.stringify(PAGE, null, 2)}\n`);

/** Adds the route. Anyone may ask it. Fastify answers HEAD as well. */
export function addFrontPage(app: FastifyInstance): void {
  app.get(FRONT_PATH, (_request: FastifyRequest, reply: FastifyReply) =>
    reply.header('content-type', 'application/json').header('content-length', BYTES.length).send(BYTES),
  );
}
