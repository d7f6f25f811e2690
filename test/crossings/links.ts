/** Links to a job's result: a place makes and revokes them, and a reader who has only a link reads the result. */
import type { FoldedResult } from '@vouchbox/protocol';
import type { Crossing } from './crossing.ts';

export interface Links {
  /** Returns the address. */
  readonly make: (crossing: Crossing, job_id: string) => Promise<string>;
  readonly revoke: (crossing: Crossing, job_id: string, address: string) => Promise<void>;
  /** Opens the address and returns the output that it shows. Default: a request over HTTP. */
  readonly read?: (address: string) => Promise<string>;
}

/** The client makes links at the first node. It revokes them at the other node if there is one. */
export const linksByClient: Links = {
  make: async ({ client }, job_id) => (await client.createLink(job_id)).address,
  revoke: async ({ otherClient }, job_id, address) => {
    await otherClient.revokeLink(job_id, idOf(address));
  },
};

/** By tenant: the address of the unrevoked link. Carried data may have this link, but no service states its address again. */
const standing = new Map<string, string>();

/** Makes links, revokes all except one, and returns the output that this link shows. */
export async function playLinks(crossing: Crossing, job_id: string, { make, revoke, read }: Links): Promise<string> {
  const [one, other, stays] = [
    await make(crossing, job_id),
    await make(crossing, job_id),
    await make(crossing, job_id),
  ];
  standing.set(crossing.tenant, stays);
  await revoke(crossing, job_id, one);
  await crossing.client.revokeLink(job_id, idOf(other));
  await isOver(crossing, [one, other]);
  const answered = await readByLink(crossing, job_id, stays);
  return read === undefined ? answered : await read(stays);
}

/** Reads the result through the link that `playLinks` did not revoke, and then revokes this link. */
export async function readLinkAgain(crossing: Crossing, job_id: string): Promise<string> {
  const address = standing.get(crossing.tenant) ?? '';
  const read = await readByLink(crossing, job_id, address);
  await linksByClient.revoke(crossing, job_id, address);
  await isOver(crossing, [address]);
  return read;
}

async function readByLink(crossing: Crossing, job_id: string, address: string): Promise<string> {
  const { items } = await crossing.otherClient.links(job_id);
  const listed = items.map(({ link_id }) => link_id);
  if (String(listed) !== idOf(address)) throw new Error(`its links are ${String(listed)}, not ${idOf(address)}`);
  const answer = await ask(crossing.service.otherUrl, address);
  if (!answer.ok) throw new Error(`its link answers ${answer.status}: ${await answer.text()}`);
  return ((await answer.json()) as FoldedResult).stdout;
}

/** @throws Error if any of the links still opens something at any node */
async function isOver({ service }: Crossing, addresses: readonly string[]): Promise<void> {
  for (const address of addresses) {
    for (const url of new Set([service.url, service.otherUrl])) {
      const { status } = await ask(url, address);
      if (status !== 404) throw new Error(`a link that was revoked answers ${status}`);
    }
  }
}

/** Opens the link at the service at `url`. Another service may have made the link. */
async function ask(url: string, address: string): Promise<Response> {
  const { pathname, hash } = new URL(address);
  return await fetch(`${url}${pathname}/result`, { headers: { authorization: `Bearer ${hash.slice(1)}` } });
}

/** The link's id, read from its address. */
export function idOf(address: string): string {
  return new URL(address).pathname.split('/').at(-1) as string;
}
