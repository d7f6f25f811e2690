/** Links in memory, for tests of the HTTP side alone. */
import { sha256Hex } from '@vouchbox/evidence';
import type { LinkedJob } from '@vouchbox/protocol';
import type { Access } from '../access/authenticate.ts';
import type { LinksOptions } from '../access/links.ts';
import type { Caller } from '../ground/caller.ts';
import { type JsonText, textOf } from '../ground/json-text.ts';
import { ServiceError } from '../ground/service-error.ts';

/** A link to a job, which shows only what every link shows. */
export const LINK = 'link-to-a-job-00';
export const SECRET_OF_LINK = 'S'.repeat(43);

/** One link to acme's job, made with acme's key. Other links can be made, but are not kept. */
export function memoryLinks(access: Access, { key, job }: { key: string; job: string }): LinksOptions['rows'] {
  const isOwned = ({ tenant, job_id }: { readonly tenant: string; readonly job_id: string }) =>
    tenant === 'acme' && job_id === job;
  return {
    async link(link_id) {
      const caller = await access.authenticate(`Bearer ${key}`);
      if (link_id !== LINK || caller instanceof ServiceError) return null;
      const row = { job_id: job, link_id, secret_sha256: sha256Hex(SECRET_OF_LINK), shows: [] };
      const times = { created_at: '2026-01-01T00:00:00.000Z', expires_at: '9999-01-01T00:00:00.000Z' };
      return { ...row, ...times, caller: access.pledge(caller, SECRET_OF_LINK) };
    },
    createLink: async ({ caller: { tenant }, job_id }) => (isOwned({ tenant, job_id }) ? 'created' : 'not_found'),
    links: async (row) => (isOwned(row) ? { principal: null, items: [] } : null),
    revokeLink: async (row) => isOwned(row) && row.link_id === LINK,
  };
}

/** What a link shows, from jobs in memory: only the id and one blob. */
export function memoryLinked({ owned, blob }: { owned: (caller: Caller, job_id: string) => void; blob: string }) {
  return {
    linked: async (caller: Caller, job_id: string) => {
      owned(caller, job_id);
      return textOf({ job_id }) as JsonText<LinkedJob>;
    },
    showsBlob: async (_caller: Caller, _id: string, { sha256 }: { readonly sha256: string }) => sha256 === blob,
  };
}
