/** The id in a path. The id authorizes nobody: the store knows who owns the job, grading or blob. */
import { SESSION_NAME } from '@vouchbox/protocol';
import type { FastifyRequest } from 'fastify';
import { invalidRequest, ServiceError } from '../../ground/service-error.ts';
import { blobNotFound, gradingNotFound, jobNotFound, sessionNotFound, toolCallNotFound } from '../../job/refusals.ts';
import { noSuchRoute } from './target.ts';

/** The form of every id that was ever issued. The store need not be asked about a text in another form. */
const ID = /^[A-Za-z0-9_-]{1,64}$/;
const DIGEST = /^[0-9a-f]{64}$/;
const EVENT_NUMBER = /^[1-9]\d{0,14}$/;

/**
 * @throws ServiceError `job_not_found`, just as for an unknown id; `route_not_found` if the path ends before its id
 */
export const jobIdOf = idIn('id', jobNotFound);
/** @throws ServiceError `grading_not_found` in the cases where `jobIdOf` throws `job_not_found` */
export const gradingIdOf = idIn('grading', gradingNotFound);
/** @throws ServiceError `session_not_found` in the cases where `jobIdOf` throws `job_not_found` */
export const sessionNameOf = idIn('session', sessionNotFound, SESSION_NAME);
/** @throws ServiceError `link_not_found` in the cases where `jobIdOf` throws `job_not_found` */
export const linkIdOf = idIn('link', linkNotFound);
/** @throws ServiceError `blob_not_found` in the cases where `jobIdOf` throws `job_not_found` */
export const blobDigestOf = idIn('sha256', blobNotFound, DIGEST);
/** @throws ServiceError `invalid_request` for text that is not a digest */
export const uploadDigestOf = idIn('sha256', notADigest, DIGEST);
const eventNumberIn = idIn('seq', toolCallNotFound, EVENT_NUMBER);
/** An event's number. @throws ServiceError `tool_call_not_found`, just as for an event that is not a call */
export const eventNumberOf = (request: FastifyRequest): number => Number(eventNumberIn(request));

/** The same refusal for a link that never existed, a link that has ended, and a wrong secret. */
export function linkNotFound(): ServiceError {
  return new ServiceError('link_not_found', 'The link does not exist or has ended.');
}

/** The refusal for makers and readers of links if the operator allows no links. */
export function linksDisabled(): ServiceError {
  return new ServiceError('links_disabled', 'The operator allows no links to results.');
}

function notADigest(): ServiceError {
  return invalidRequest('The address must end with a SHA-256 as 64 lower-case hex digits.');
}

/** A function that reads the id in this parameter of a path. */
function idIn(parameter: string, refusal: () => ServiceError, form = ID): (request: FastifyRequest) => string {
  return ({ params }) => {
    const { [parameter]: text = '' } = params as Readonly<Record<string, string>>;
    if (form.test(text)) return text;
    throw text === '' ? noSuchRoute() : refusal();
  };
}
