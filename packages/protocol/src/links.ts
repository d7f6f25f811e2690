/**
 * Links: until a link ends, anyone who has it can read a job's result without a credential. Only the answer to the link's maker
 * has the secret.
 */
import { lifecycle } from './job.ts';
import { linkSecondsDefault, linkSecondsMax, linkSecondsMin } from './limits.ts';
import { LINK_PART_NAMES } from './link-parts.ts';
import { AnyReceipt } from './receipt.ts';
import { JobId, RelativeUrl, Sha256, Timestamp } from './spellings.ts';
import { StoredSpec } from './submission.ts';
import { Closed, Nullable, type Static, Type } from './type.ts';

const Shows = Type.Array(Type.Enum([...LINK_PART_NAMES]), {
  maxItems: LINK_PART_NAMES.length,
  description:
    'What it shows beside status, output, receipt and attestation: the `code`; the `input`, which is arguments, variables, ' +
    'standard input and files; and the `files` that the program left.',
});

export const LinkRequest = Closed({
  expires_in: Type.Optional(
    Type.Integer({
      minimum: linkSecondsMin,
      maximum: linkSecondsMax,
      description: `Seconds until it ends; ${linkSecondsDefault} if omitted. It ends earlier with the credential that made it.`,
    }),
  ),
  shows: Type.Optional(Shows),
});
export type LinkRequest = Static<typeof LinkRequest>;

export const Link = Type.Object({
  link_id: Type.String(),
  job_id: JobId,
  /** The principal who made the link. */
  principal: Type.String(),
  shows: Shows,
  created_at: Timestamp,
  expires_at: Timestamp,
});
export type Link = Static<typeof Link>;

/** The answer to a link's maker. Only this answer has the secret. It is in the fragment after `#`, which no browser sends. */
export const NewLink = Type.Object({ ...Link.properties, link_url: RelativeUrl });
export type NewLink = Static<typeof NewLink>;

export const LinkList = Type.Object({
  items: Type.Array(Link),
  may_make: Type.Optional(
    Type.Boolean({
      description:
        'Whether the caller may make a link to the job: it submitted the job, and the operator allows links. Absent in answers of older services.',
    }),
  ),
});
export type LinkList = Static<typeof LinkList>;

export const LinkRevocation = Type.Object({ link_id: Type.String(), revoked: Type.Literal(true) });
export type LinkRevocation = Static<typeof LinkRevocation>;

/** What a link shows of its job, in addition to the result and the signed bytes. */
export const LinkedJob = Type.Object({
  ...lifecycle,
  tenant: Type.String(),
  signal: Nullable(Type.String()),
  /** Whether the signed envelope and the result that it covers can be read. */
  attestation_available: Type.Boolean(),
  /** The specification, reduced to the parts that the link shows. */
  requested_spec: StoredSpec,
  receipt: Type.Optional(AnyReceipt),
  receipt_sha256: Type.Optional(Sha256),
  shows: Shows,
  expires_at: Timestamp,
});
export type LinkedJob = Static<typeof LinkedJob>;
