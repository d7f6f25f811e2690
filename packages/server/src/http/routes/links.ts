/**
 * Links to results: the operations for their makers, and the view for readers who have the secret. The view is outside of `/v1`:
 * no credential opens anything there, and no answer there can act as a page of the service. Spec § Links.
 */
import {
  BLOB_MEDIA_TYPE,
  ENVELOPE_MEDIA_TYPE,
  LINK_PART_NAMES,
  LinkRequest,
  linkSecondsDefault,
  linksOfJobMax,
  linksOfTenantMax,
  misfitOf,
  RESULT_MEDIA_TYPE,
} from '@vouchbox/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { bearerToken } from '../../access/authenticate.ts';
import type { LinkWish, OpenLink } from '../../access/links.ts';
import type { Reservation } from '../../capacity/permits.ts';
import { createRateBudget, type RateBound } from '../../capacity/rate.ts';
import { ServiceError } from '../../ground/service-error.ts';
import { refusal } from '../../job/admit/refuse.ts';
import { problemOf } from '../../job/admit/submission.ts';
import { answered } from '../../job/answered.ts';
import { jobNotFound } from '../../job/refusals.ts';
import { onAnswerEnd } from '../answer/answer-end.ts';
import { readJsonBody } from '../call/body.ts';
import { claimFor, type Handlers, refuseWhenStopping } from '../call/call.ts';
import { pumpTo, sendBodyTo, sendBytesTo, sendJson, sendTextTo } from '../call/respond.ts';
import { resetConnection } from '../connections/connection.ts';
import { blobDigestOf, linkIdOf, linkNotFound, linksDisabled } from '../request/path-id.ts';
import type { RouteContext } from './context.ts';
import { ALONE } from './pages.ts';

export function linkHandlers({
  links,
  allowsLinks,
}: RouteContext): Handlers<'createLink' | 'listLinks' | 'revokeLink'> {
  return {
    async createLink(call) {
      refuseWhenStopping(call);
      if (!allowsLinks) throw linksDisabled();
      const { caller, job_id } = call;
      const wish = wishOf(await readJsonBody(call));
      const made = await answered(links.make(caller, job_id, wish));
      if (typeof made !== 'string') return sendJson(call, 201, made);
      throw REFUSALS[made]();
    },
    async listLinks(call) {
      const found = await answered(links.list(call.caller, call.job_id));
      if (found === null) throw jobNotFound();
      return sendJson(call, 200, { ...found, may_make: allowsLinks && found.may_make });
    },
    async revokeLink(call) {
      const { caller, job_id } = call;
      const link_id = linkIdOf(call.request);
      if (await answered(links.revoke(caller, job_id, link_id))) return sendJson(call, 200, { link_id, revoked: true });
      throw (await answered(links.list(caller, job_id))) === null ? jobNotFound() : linkNotFound();
    },
  };
}

function wishOf(body: unknown): LinkWish {
  const misfit = misfitOf(LinkRequest, body);
  if (misfit !== null) throw refusal('invalid_request', misfit.pointer, problemOf(misfit));
  const { expires_in: seconds = linkSecondsDefault, shows = [] } = body as LinkRequest;
  return { seconds, shows: LINK_PART_NAMES.filter((part) => shows.includes(part)) };
}

const REFUSALS = {
  not_found: jobNotFound,
  not_allowed: () =>
    new ServiceError('principal_not_allowed', 'Only the principal that submitted the job may make a link.'),
  'full job': () => full(`The job has ${linksOfJobMax} links already.`),
  'full tenant': () => full(`The tenant has ${linksOfTenantMax} links already.`),
};

function full(message: string): ServiceError {
  return new ServiceError('tenant_capacity_exhausted', `${message} Revoke one.`);
}

/** The budget that all readers of one tenant's links share. It is separate from the tenant's own budget. */
const RATE: RateBound = { perSecond: 100, burst: 1000 };

/** The headers of answers. Answers are data: a browser that is sent to an answer saves it, and runs nothing in it. */
const DATA_HEADERS = {
  ...ALONE,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'content-disposition': 'attachment',
};

type ReadingContext = Pick<RouteContext, 'links' | 'allowsLinks' | 'jobs' | 'blobs' | 'permits' | 'authority'>;

/** An answer whose contents were read: its length, and how to send it. */
interface LinkAnswer {
  readonly bytes: number;
  readonly send: (reply: FastifyReply) => FastifyReply;
}

/** Adds the routes for a link's contents. Fastify answers HEAD as well. */
export function addLinks(app: FastifyInstance, context: ReadingContext, bound = RATE): void {
  const { jobs, blobs } = context;
  const rate = createRateBudget(bound);
  const route = (part: string, read: (link: OpenLink, request: FastifyRequest) => Promise<LinkAnswer>) =>
    app.get(`/links/:link/${part}`, async (request, reply) => {
      const link = await openedBy(request, context);
      const { allowed, retryAfterSeconds } = rate.spend(link.caller.tenant);
      if (!allowed) throw new ServiceError('rate_limited', 'The links are read too often.', { retryAfterSeconds });
      const place = holdResponse(request, reply, link, context);
      const answer = await stillThere(read(link, request));
      claimFor(place, request, answer);
      return answer.send(reply.headers(DATA_HEADERS));
    });
  route('job', async ({ caller, job_id, shows, expires_at }) => {
    const text = await jobs.linked(caller, job_id, { shows, expires_at });
    return { bytes: Buffer.byteLength(text), send: (reply) => sendTextTo(reply, 200, text) };
  });
  route('result', async ({ caller, job_id, shows }) => {
    const { signal } = new AbortController();
    const { body } = await jobs.result(caller, job_id, { waitSeconds: 0, signal, shows });
    return { bytes: body.bytes, send: (reply) => sendBodyTo(reply, 200, body) };
  });
  for (const [part, stored, mediaType] of SIGNED) {
    route(part, async ({ caller, job_id }) => {
      const { bytes } = await jobs.attestation(caller, job_id, stored);
      const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      return { bytes: view.length, send: (reply) => sendBytesTo(reply, view, { status: 200, mediaType }) };
    });
  }
  route('blobs/:sha256', async ({ caller, job_id, shows }, request) => {
    const sha256 = blobDigestOf(request);
    if (!(await jobs.showsBlob(caller, job_id, { shows, sha256 })))
      throw new ServiceError('blob_not_found', 'The link shows no such file.');
    const content = await blobs.content(caller, sha256);
    const send = (reply: FastifyReply) => pumpTo(reply, content, { status: 200, mediaType: BLOB_MEDIA_TYPE });
    return { bytes: content.bytes, send };
  });
}

const SIGNED = [
  ['attestation', 'envelope', ENVELOPE_MEDIA_TYPE],
  ['result-artifact', 'result_artifact', RESULT_MEDIA_TYPE],
] as const;

/** The link whose secret a request carries. Every fault gets the same refusal. @throws ServiceError `link_not_found` */
async function openedBy(request: FastifyRequest, { links, allowsLinks }: ReadingContext): Promise<OpenLink> {
  if (!allowsLinks) throw linksDisabled();
  const secret = bearerToken(request.headers.authorization ?? '');
  const link = secret === null ? null : await answered(links.open(linkIdOf(request), secret));
  if (link === null) throw linkNotFound();
  request.caller = link.caller;
  return link;
}

/** Returns the answer. If the job is removed while its link is read, the link counts as unknown. */
async function stillThere<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    throw error instanceof ServiceError && error.code === 'job_not_found' ? linkNotFound() : error;
  }
}

/** Reserves a permit for the whole answer, under a name that no tenant has, so that readers of links take no tenant's place. */
function holdResponse(
  { raw }: FastifyRequest,
  reply: FastifyReply,
  { caller, expires_at: linkEnd }: OpenLink,
  { permits, authority }: ReadingContext,
): Reservation {
  const reset = () => resetConnection(raw.socket);
  const permit = permits.reserve('response', `links/${caller.tenant}`, reset);
  onAnswerEnd(reply.raw, () => permit[Symbol.dispose]());
  const expires_at = caller.expires_at !== null && caller.expires_at < linkEnd ? caller.expires_at : linkEnd;
  onAnswerEnd(reply.raw, authority.watch({ ...caller, expires_at }, reset));
  return permit;
}
