/** The id in a path. It is not an authorization: the store knows whose job, grading or blob it is. */
import { SESSION_NAME } from '@vouchbox/protocol';
import type { FastifyRequest } from 'fastify';
import { invalidRequest, ServiceError } from '../../ground/service-error.ts';
import { blobNotFound, gradingNotFound, jobNotFound, sessionNotFound, toolCallNotFound } from '../../job/refusals.ts';
import { noSuchRoute } from './target.ts';

/** The form of every id that was ever issued. For a text of another form, the store need not be asked. */
const ID = /^[A-Za-z0-9_-]{1,64}$/;
const DIGEST = /^[0-9a-f]{64}$/;
const EVENT_NUMBER = /^[1-9]\d{0,14}$/;

/**
 * @throws ServiceError `job_not_found`, the same as for an unknown id; `route_not_found` if the path ends before its id
 */
export const jobIdOf = idIn('id', jobNotFound);
/** @throws ServiceError as `jobIdOf` does, but `grading_not_found` */
export const gradingIdOf = idIn('grading', gradingNotFound);
/** @throws ServiceError as `jobIdOf` does, but `session_not_found` */
export const sessionNameOf = idIn('session', sessionNotFound, SESSION_NAME);
/** @throws ServiceError as `jobIdOf` does, but `link_not_found` */
export const linkIdOf = idIn('link', linkNotFound);
/** @throws ServiceError as `jobIdOf` does, but `blob_not_found` */
export const blobDigestOf = idIn('sha256', blobNotFound, DIGEST);
/** @throws ServiceError `invalid_request` for text that is not a digest */
export const uploadDigestOf = idIn('sha256', notADigest, DIGEST);
const eventNumberIn = idIn('seq', toolCallNotFound, EVENT_NUMBER);
/** The number of an event. @throws ServiceError as `jobIdOf` does, but `tool_call_not_found`, as for an event that is no call */
export const eventNumberOf = (request: FastifyRequest): number => Number(eventNumberIn(request));

/** The same refusal for a link that never was, one that has ended, and a wrong secret. */
export function linkNotFound(): ServiceError {
  return new ServiceError('link_not_found', 'The link does not exist or has ended.');
}

/** The refusal to makers and readers of links if the operator allows none. */
export function linksDisabled(): ServiceError {
  return new ServiceError('links_disabled', 'The operator allows no links to results.');
}

function notADigest(): ServiceError {
  return invalidRequest('The address must end with a SHA-256 as 64 lower-case hex digits.');
}

/** How the id of this parameter is read from a path. */
function idIn(parameter: string, refusal: () => ServiceError, form = ID): (request: FastifyRequest) => string {
  return ({ params }) => {
    const { [parameter]: text = '' } = params as Readonly<Record<string, string>>;
    if (form.test(text)) return text;
    throw text === '' ? noSuchRoute() : refusal();
  };
}
