/** The id in a path. It is not an authorization: the store knows whose job or grading it is. */
import { SESSION_NAME } from '@vouchbox/protocol';
import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../ground/service-error.ts';
import { gradingNotFound, jobNotFound, sessionNotFound } from '../../job/refusals.ts';
import { noSuchRoute } from './target.ts';

/** The form of every id that was ever issued. For a text of another form, the store need not be asked. */
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

/**
 * The number of an event. @throws ServiceError `tool_call_not_found` for text that is not a number, as for an event that is not a
 * call
 */
export function eventNumberOf(request: FastifyRequest): number {
  const { seq } = request.params as { seq: string };
  if (seq === '') throw noSuchRoute();
  if (/^[1-9]\d{0,14}$/.test(seq)) return Number(seq);
  throw new ServiceError('tool_call_not_found', 'No call of this number waits for an answer in the job.');
}

/** @throws ServiceError as `jobIdOf` does, but `session_not_found` */
export function sessionNameOf(request: FastifyRequest): string {
  return idIn((request.params as { session: string }).session, sessionNotFound, SESSION_NAME);
}

/** @throws ServiceError as `jobIdOf` does, but `link_not_found` */
export function linkIdOf(request: FastifyRequest): string {
  return idIn((request.params as { link: string }).link, linkNotFound);
}

/** The same refusal for a link that never was, one that has ended, and a wrong secret. */
export function linkNotFound(): ServiceError {
  return new ServiceError('link_not_found', 'The link does not exist or has ended.');
}

/** The refusal to makers and readers of links if the operator allows none. */
export function linksDisabled(): ServiceError {
  return new ServiceError('links_disabled', 'The operator allows no links to results.');
}

function idIn(text: string, notFound: () => ServiceError, form = ID): string {
  if (form.test(text)) return text;
  if (text === '') throw noSuchRoute();
  throw notFound();
}
