/** Links to results. The store keeps a hash of each link's secret, and the authority of the link's maker. */
import { type LinkPart, linksOfJobMax, linksOfTenantMax } from '@vouchbox/protocol/vocabulary';
import { deleteBy, deleteExpired, hasKey, insertOf, JOB, selectBy } from '../by-column.ts';
import { prepared } from '../prepared.ts';
import type { JobKey, LinkRow } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import type { JobLinkTable } from '../schema-of-access.ts';
import { AUTHORITY, authorityOf, callerOf } from './authority.ts';

/** A job's links. `principal` is null if an older version stored the job without a principal: nobody can link to it. */
interface JobLinks {
  readonly principal: string | null;
  readonly items: readonly LinkRow[];
}

interface OfJob extends JobKey {
  readonly now: string;
}

const selectPrincipal = selectBy('job_specs', JOB, ['principal']);

const countLinks = prepared((db, { tenant, job_id, now }: OfJob) =>
  db
    .selectFrom('job_links')
    .select(({ fn, eb }) => [
      fn.countAll<number>().as('ofTenant'),
      fn.count<number>(eb.case().when('job_id', '=', job_id).then(1).end()).as('ofJob'),
    ])
    .where('tenant', '=', tenant)
    .where('expires_at', '>', now),
);

const forgetSome = deleteExpired('job_links', 'link_id');

const COLUMNS = [...AUTHORITY, 'job_id', 'link_id', 'secret_sha256', 'shows', 'created_at', 'expires_at'] as const;

const insertLink = insertOf('job_links', COLUMNS);

const selectLink = selectBy('job_links', ['link_id'], COLUMNS);

const selectLinks = prepared((db, of: OfJob) =>
  db
    .selectFrom('job_links')
    .select(COLUMNS)
    .where(hasKey('job_links', JOB, of))
    .where('expires_at', '>', of.now)
    .orderBy('created_at')
    .orderBy('link_id'),
);

const deleteLink = deleteBy('job_links', [...JOB, 'link_id']);

/** Ends the links that were made with an issued credential, when the credential ends. */
export const endLinks = prepared((db, { credential_id, at }: { credential_id: string; at: string }) =>
  db
    .updateTable('job_links')
    .set({ expires_at: at })
    .where('credential_id', '=', credential_id)
    .where('auth_method', '=', 'key')
    .where('expires_at', '>', at),
);

/** Whether a link was stored. `full job` and `full tenant`: the job or the tenant already has as many links as it may have. */
export type LinkAdmission = 'created' | 'not_found' | 'not_allowed' | 'full job' | 'full tenant';

/** Stores a link to a job that the link's own principal submitted. Also deletes some links that have ended. */
export async function createLink(db: StoreDatabase, link: LinkRow): Promise<LinkAdmission> {
  const { job_id, created_at: now, caller } = link;
  const { tenant } = caller;
  const job = await selectPrincipal.first(db, { tenant, job_id });
  if (job === null) return 'not_found';
  if (job.principal !== caller.principal) return 'not_allowed';
  const { ofJob = 0, ofTenant = 0 } = (await countLinks.first(db, { tenant, job_id, now })) ?? {};
  if (Number(ofJob) >= linksOfJobMax) return 'full job';
  if (Number(ofTenant) >= linksOfTenantMax) return 'full tenant';
  forgetSome.send(db, { now });
  const { link_id, secret_sha256, shows, expires_at } = link;
  insertLink.send(db, {
    ...authorityOf(caller),
    job_id,
    link_id,
    secret_sha256,
    shows: JSON.stringify(shows),
    created_at: now,
    expires_at,
  });
  return 'created';
}

/** Finds any tenant's link by its identifier: the row names the tenant. The caller checks whether the link has ended. */
export async function link(db: StoreDatabase, link_id: string): Promise<LinkRow | null> {
  const row = await selectLink.first(db, { link_id });
  return row === null ? null : linkOf(row);
}

/** A job's links that have not ended, oldest first, and the only principal that may make more; null for an unknown job. */
export async function links(db: StoreDatabase, of: OfJob): Promise<JobLinks | null> {
  const job = await selectPrincipal.first(db, of);
  return job && { principal: job.principal, items: (await selectLinks.all(db, of)).map(linkOf) };
}

/** Ends a link. False if there is no such link. */
export async function revokeLink(
  db: StoreDatabase,
  key: Pick<JobLinkTable, 'tenant' | 'job_id' | 'link_id'>,
): Promise<boolean> {
  return (await deleteLink.run(db, key)) > 0;
}

function linkOf(row: JobLinkTable): LinkRow {
  const { job_id, link_id, secret_sha256, created_at, expires_at } = row;
  const shows = JSON.parse(row.shows) as LinkPart[];
  return { job_id, link_id, secret_sha256, shows, created_at, expires_at, caller: callerOf(row) };
}
