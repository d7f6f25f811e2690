/**
 * A job as a link shows it. Parts of the submission that the link does not show are left out here, on the thread that reads them.
 * Everything else about the job that the contract does not list for links is left out, too.
 */
import type { LinkedJob, StoredSpec } from '@vouchbox/protocol';
import { inputsOf, isForLinks, LINK_PARTS, type LinkPart } from '@vouchbox/protocol/vocabulary';
import { type JsonText, jsonText, Spelled } from '../../ground/json-text.ts';
import { largeOutputs } from '../blobs/large-outputs.ts';
import type { JobKey } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import { attestationMember, lifecycle, selectDetail } from './job-detail.ts';

/** A job as a link shows it; null if the tenant has no such job. */
export async function linkedJob(
  db: StoreDatabase,
  { shows, expires_at, ...key }: JobKey & { readonly shows: readonly LinkPart[]; readonly expires_at: string },
): Promise<JsonText<LinkedJob> | null> {
  const columns = await selectDetail.first(db, key);
  if (columns === null) return null;
  const { receipt_json, receipt_sha256 } = columns;
  return jsonText<LinkedJob>({
    ...lifecycle(columns),
    attestation_available: attestationMember(columns).available,
    requested_spec: shownOf(columns.requested_spec ?? '{}', shows),
    ...(receipt_json !== null && receipt_sha256 !== null && { receipt: new Spelled(receipt_json), receipt_sha256 }),
    shows: [...shows],
    expires_at,
  });
}

/** Whether a link shows the file with this digest: a large output, or an input file that was named by its digest. */
export async function linkShowsBlob(
  db: StoreDatabase,
  { shows, sha256, ...key }: JobKey & { readonly shows: readonly LinkPart[]; readonly sha256: string },
): Promise<boolean> {
  const outputs = shows.includes('files') ? await largeOutputs(db, key) : null;
  if (outputs?.some((file) => isForLinks(file) && file.sha256 === sha256)) return true;
  const spec = shows.includes('input') ? (await selectDetail.first(db, key))?.requested_spec : null;
  return inputsOf(JSON.parse(spec ?? '{}') as StoredSpec).some(
    (file) => isForLinks(file) && 'blob' in file && file.blob === `sha256:${sha256}`,
  );
}

function shownOf(requested_spec: string, shows: readonly LinkPart[]): LinkedJob['requested_spec'] {
  const names: readonly (keyof StoredSpec)[] = shows.flatMap((part) => [...LINK_PARTS[part]]);
  if (names.length === 0) return {};
  const stored = JSON.parse(requested_spec) as StoredSpec;
  const spec = { ...stored, ...(stored.files && { files: stored.files.filter(isForLinks) }) };
  return Object.fromEntries(names.flatMap((name) => (name in spec ? [[name, spec[name]]] : [])));
}
