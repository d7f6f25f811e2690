/** The id in a path. It is not an authorization: the store knows whose job or grading it is. */
import type { FastifyRequest } from 'fastify';
import type { ServiceError } from '../../ground/service-error.ts';
import { gradingNotFound, jobNotFound } from '../../job/refusals.ts';
import { noSuchRoute } from './target.ts';

/** Every id that was ever issued fits. Text that does not fit is not an id, and the store need not be asked. */
const ID = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * @throws ServiceError `job_not_found`, the same as for an unknown id; `route_not_found` if the path ends before its id
 */
export function jobIdOf(request: FastifyRequest): string {
  return idIn((request.params as { id: string }).id, jobNotFound);
}

/** @throws ServiceError as `jobIdOf` does, but `grading_not_found` */
export function gradingIdOf(request: FastifyRequest): string {
  return idIn((request.params as { grading: string }).grading, gradingNotFound);
}

function idIn(text: string, notFound: () => ServiceError): string {
  if (ID.test(text)) return text;
  if (text === '') throw noSuchRoute();
  throw notFound();
}
