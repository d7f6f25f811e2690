/**
 * The digest of a submission; equal submissions have equal digests. It is computed on a store thread, because a submission may
 * have many megabytes.
 */
import { canonicalJson, sha256Hex } from '@vouchbox/evidence';
import type { RequestedSpec } from '@vouchbox/protocol';
import { filesByContent, filesByDigest, stdinByContent, stdinByDigest } from '../blobs/named-files.ts';
import type { StoreDatabase } from '../schema.ts';

export interface SpecDigestInput {
  readonly tenant: string;
  readonly spec: RequestedSpec;
  /** The specification of the other job of a pair: the digest then covers both. */
  readonly interactor?: RequestedSpec;
  /** How files enter the digest; `content` if omitted. */
  readonly filesBy?: 'content' | 'digests';
}

/**
 * SHA-256 over the canonical form of a specification with its defaults filled in and its limits as requested. So the digest
 * depends neither on how the submission is written as JSON nor on ceilings. Members that were added to the contract later are
 * left out if they are empty, so that keys from an older version still match. Labels count only if they are signed; otherwise
 * they only help to find a job again. A file counts by its content, whether it was sent inline or uploaded before, and so does
 * standard input. `content` reads the bytes; the digest is null if the tenant lacks a blob that the specification names.
 * `digests` needs no bytes, so it also works after an output was removed.
 */
export async function specDigest(db: StoreDatabase, { interactor, ...input }: SpecDigestInput): Promise<string | null> {
  const program = await digestOf(db, input);
  if (interactor === undefined || program === null) return program;
  const other = await digestOf(db, { ...input, spec: interactor });
  return other === null ? null : sha256Hex(canonicalJson({ program, interactor: other }));
}

async function digestOf(
  db: StoreDatabase,
  { tenant, spec, filesBy }: Omit<SpecDigestInput, 'interactor'>,
): Promise<string | null> {
  const { args, env, named_stdin: _, labels, ...rest } = spec;
  const isByDigest = filesBy === 'digests';
  const files = isByDigest ? filesByDigest(spec.files) : await filesByContent(db, { tenant, files: spec.files });
  const stdin = isByDigest ? stdinByDigest(spec) : await stdinByContent(db, { tenant, spec });
  if (files === null || stdin === 'unavailable') return null;
  const words = { ...(args.length > 0 && { args }), ...(Object.keys(env).length > 0 && { env }) };
  return sha256Hex(canonicalJson({ ...rest, files, stdin: stdin.form, ...words, ...(spec.sign_labels && { labels }) }));
}
