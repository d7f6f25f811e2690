/** The `{id}` of a path. A job id is not an authorization: the store knows whose job it is. */
import type { FastifyRequest } from 'fastify';
import { jobNotFound } from '../../job/refusals.ts';
import { noSuchRoute } from './target.ts';

/** Every id that was ever issued fits. Text that does not fit is not an id, and the store need not be asked. */
const JOB_ID = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * @throws ServiceError `job_not_found`, the same as for an unknown id; `route_not_found` if the path ends before its id
 */
export function jobIdOf(request: FastifyRequest): string {
  const { id } = request.params as { id: string };
  if (JOB_ID.test(id)) return id;
  if (id === '') throw noSuchRoute();
  throw jobNotFound();
}
