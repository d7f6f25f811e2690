/** Links to job results. This module is loaded when a link is first requested. */

import type { LinkList, LinkRevocation, NewLink } from './contract-types.ts';
import { TransportFailure } from './failure.ts';
import type { CallOptions } from './job-options.ts';
import { answerCheck, once, read } from './operation.ts';
import type { Session } from './session.ts';
import { decodeJson } from './transport.ts';

const CREATE = 'POST /v1/jobs/{id}/links';

export interface LinkOptions extends CallOptions {
  /** How many seconds the link lasts, at most seven days. The default is one day. */
  readonly expires_in?: number;
  /** The parts that the link shows in addition to status, output, receipt and attestation. By default, there are none. */
  readonly shows?: NewLink['shows'];
}

export interface CreatedLink extends NewLink {
  /** The address to pass on. It leads to a page that shows the result, and has the secret after its `#`. */
  readonly address: string;
}

/** The only accepted form. Any other address from a service could lead a reader, together with the secret, somewhere else. */
const LINK_URL = /^\/links\/([\w-]+)#[\w-]+$/;

/** Makes a link with a single request, because a repeated request could leave a link whose address nobody has. */
export async function createLink(
  session: Session,
  job_id: string,
  { expires_in, shows = [], signal }: LinkOptions,
): Promise<CreatedLink> {
  const body = { shows, ...(expires_in !== undefined && { expires_in }) };
  const answer = decodeJson(await once(session, CREATE, { job_id, body, signal }));
  const link = (await answerCheck()).checkAnswer<NewLink>(CREATE, answer, job_id);
  if (LINK_URL.exec(link.link_url)?.[1] !== link.link_id)
    throw new TransportFailure('undecodable', 'the answer has no link_url of the link');
  return { ...link, address: session.baseUrl + link.link_url };
}

export function listLinks(session: Session, job_id: string, { signal }: CallOptions): Promise<LinkList> {
  return read(session, 'GET /v1/jobs/{id}/links', { job_id, signal });
}

export async function revokeLink(
  session: Session,
  job_id: string,
  link: string,
  { signal }: CallOptions,
): Promise<LinkRevocation> {
  const answer = await read(session, 'DELETE /v1/jobs/{id}/links/{link}', { job_id, link, signal });
  if (answer.revoked !== true || answer.link_id !== link)
    throw new TransportFailure('undecodable', 'the answer does not say that the link has ended');
  return answer;
}
