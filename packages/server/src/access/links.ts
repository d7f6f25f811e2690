/**
 * Links to results. A link has only its maker's authority, so it ends with the maker's credential, like a stream ticket. The
 * link's secret is returned once; the store keeps a digest of it.
 */
import { randomBytes } from 'node:crypto';
import { sha256Hex } from '@vouchbox/evidence';
import type { Link, LinkList, LinkPart, NewLink } from '@vouchbox/protocol';
import type { Caller } from '../ground/caller.ts';
import type { LinkAdmission } from '../store/access/links.ts';
import type { LinkRow } from '../store/records/rows.ts';
import type { Store } from '../store/store.ts';
import { type Access, hasExpired } from './authenticate.ts';
import { isSame, NO_DIGEST } from './indexed.ts';
import { timestamp } from './tickets.ts';

export interface LinkWish {
  readonly shows: readonly LinkPart[];
  readonly seconds: number;
}

/** A link that has not ended and whose secret was presented. */
export interface OpenLink {
  /** The caller who made the link. The link has this caller's authority. */
  readonly caller: Caller;
  readonly job_id: string;
  readonly shows: readonly LinkPart[];
  readonly expires_at: string;
}

export interface Links {
  /** Makes a link. Resolves when the link is on disk, or to the reason why none was made. */
  make(caller: Caller, job_id: string, wish: LinkWish): Promise<NewLink | Exclude<LinkAdmission, 'created'>>;
  /** `may_make` says whether the job is the caller's own. Null if the tenant has no such job. */
  list(caller: Caller, job_id: string): Promise<Required<LinkList> | null>;
  revoke(caller: Caller, job_id: string, link_id: string): Promise<boolean>;
  /** The link. An unknown link, a wrong secret, and a link that has ended for any reason all give null. */
  open(link_id: string, secret: string): Promise<OpenLink | null>;
}

export interface LinksOptions {
  readonly rows: Pick<Store, 'createLink' | 'link' | 'links' | 'revokeLink'>;
  readonly access: Pick<Access, 'pledge' | 'redeem'>;
  /** The time of day in milliseconds. */
  readonly now?: () => number;
}

const ID_BYTES = 12;
const SECRET_BYTES = 32;
const ID = /^[A-Za-z0-9_-]{16}$/;
const SECRET = /^[A-Za-z0-9_-]{43}$/;

/** All methods reject with the store's failures. */
export function createLinks({ rows, access, now = Date.now }: LinksOptions): Links {
  return {
    async make(caller, job_id, { shows, seconds }) {
      // A command would take a link id that begins with - for an option.
      const [link_id, secret] = [newText(ID_BYTES).replace(/^-/, '_'), newText(SECRET_BYTES)];
      const made = now();
      const latest = timestamp(made + seconds * 1000);
      const row: LinkRow = {
        job_id,
        link_id,
        secret_sha256: sha256Hex(secret),
        shows,
        created_at: timestamp(made),
        expires_at: caller.expires_at !== null && caller.expires_at < latest ? caller.expires_at : latest,
        caller: access.pledge(caller, secret),
      };
      const admission = await rows.createLink(row);
      return admission === 'created' ? { ...linkOf(row), link_url: `/links/${link_id}#${secret}` } : admission;
    },
    async list({ tenant, principal }, job_id) {
      const found = await rows.links({ tenant, job_id, now: timestamp(now()) });
      return found && { items: found.items.map(linkOf), may_make: found.principal === principal };
    },
    revoke: ({ tenant }, job_id, link_id) => rows.revokeLink({ tenant, job_id, link_id }),
    async open(link_id, secret) {
      if (!ID.test(link_id) || !SECRET.test(secret)) return null;
      const row = await rows.link(link_id);
      // If the link is unknown, the secret is compared with an empty digest, so that this answer takes as long as any other.
      const isRight = isSame(sha256Hex(secret), row?.secret_sha256 ?? NO_DIGEST);
      if (row === null || !isRight || hasExpired(row.expires_at, now())) return null;
      const caller = await access.redeem(row.caller, secret);
      return caller === null ? null : { caller, job_id: row.job_id, shows: row.shows, expires_at: row.expires_at };
    },
  };
}

function linkOf({ link_id, job_id, caller: { principal }, shows, created_at, expires_at }: LinkRow): Link {
  return { link_id, job_id, principal, shows: [...shows], created_at, expires_at };
}

function newText(bytes: number): string {
  return randomBytes(bytes).toString('base64url');
}
