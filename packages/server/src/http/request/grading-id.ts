/** The `{grading}` of a path. An id is not an authorization: the store knows whose grading it is. */
import type { FastifyRequest } from 'fastify';
import { gradingNotFound } from '../../job/refusals.ts';
import { noSuchRoute } from './target.ts';

/** Every id that was ever issued fits. */
const GRADING_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** @throws ServiceError `grading_not_found`, the same as for an unknown id; `route_not_found` if the path ends before its id */
export function gradingIdOf(request: FastifyRequest): string {
  const { grading } = request.params as { grading: string };
  if (GRADING_ID.test(grading)) return grading;
  if (grading === '') throw noSuchRoute();
  throw gradingNotFound();
}
