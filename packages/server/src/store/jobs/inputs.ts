/**
 * Finds the bytes that a submission's files name: an upload, or an output of a job that has ended. An output is looked up once: a
 * repeated submission gets the first submission's answer, even if the output is gone by then.
 */
import type { OutputFile, OutputName, ResolvedOutput, StoredSpec, UploadedFile } from '@vouchbox/protocol';
import { inputsOf } from '@vouchbox/protocol/vocabulary';
import { blob } from '../blobs/blobs.ts';
import { digestOf, isOutput } from '../blobs/blobs-named.ts';
import { JOB, same, selectBy } from '../by-column.ts';
import { prepared } from '../prepared.ts';
import type { JobSpecTable, StoreDatabase } from '../schema.ts';
import { peerOf } from './pairs.ts';
import type { SubmissionEvidence } from './submission-evidence.ts';

export type NamingFile = UploadedFile | OutputFile;

export interface InputsAsked {
  readonly tenant: string;
  readonly files: readonly NamingFile[];
  /** The key of the submission; null if it has none. */
  readonly key: string | null;
  /** Whether outputs may be found by their digests. */
  readonly mayReadJobs: boolean;
}

/** The bytes of a named file. */
export interface Input {
  /** `sha256:` and 64 hex digits. */
  readonly blob: string;
  readonly size_bytes: number;
  /** The output from which the bytes come; null for an upload. */
  readonly from: OutputName | null;
}

/** A job's output: inline with its result, or by digest. */
type OutputTable = 'artifacts' | 'large_outputs';
const OUTPUT = ['job_id', 'path', 'size_bytes', 'sha256'] as const;

/** Finds an output in the latest job that made it, because that job is kept longest. Job ids sort by time. */
const latestIn = (table: OutputTable) =>
  prepared((db, { tenant, sha256 }: { tenant: string; sha256: string }) =>
    db
      .selectFrom(table)
      .select(OUTPUT)
      .where('tenant', '=', tenant)
      .where('sha256', '=', sha256)
      .orderBy('job_id', 'desc')
      .limit(1),
  );

const selectOutput = selectBy('artifacts', [...JOB, 'path'], OUTPUT);
const selectLarge = selectBy('large_outputs', [...JOB, 'path'], OUTPUT);
const [selectByDigest, selectLargeByDigest] = [latestIn('artifacts'), latestIn('large_outputs')];

const selectEarlier = prepared((db, { tenant, key }: { tenant: string; key: string }) =>
  db
    .selectFrom('idempotency_keys')
    .innerJoin('job_specs', (join) => join.on(same(JOB, 'job_specs', 'idempotency_keys')))
    .select(['job_specs.job_id', 'job_specs.requested_spec', 'job_specs.evidence'])
    .where('idempotency_keys.tenant', '=', tenant)
    .where('idempotency_keys.idempotency_key', '=', key),
);

const selectStored = selectBy('job_specs', JOB, ['requested_spec', 'evidence']);

/** The bytes of each named file, in the same order; null for a file that the tenant does not have. */
export async function inputs(db: StoreDatabase, asked: InputsAsked): Promise<readonly (Input | null)[]> {
  const found: (Input | null)[] = [];
  for (const file of asked.files) found.push(await inputOf(db, file, asked));
  const { tenant, key, mayReadJobs } = asked;
  if (key === null || !mayReadJobs || !found.includes(null)) return found;
  const earlier = await outputsOfKey(db, { tenant, key });
  return asked.files.map((file, index) => found[index] ?? asBefore(file, earlier));
}

async function inputOf(
  db: StoreDatabase,
  file: NamingFile,
  { tenant, mayReadJobs }: InputsAsked,
): Promise<Input | null> {
  if ('from' in file) {
    const named = { tenant, ...file.from };
    const output = (await selectOutput.first(db, named)) ?? (await selectLarge.first(db, named));
    const isSame = file.blob === undefined || file.blob === `sha256:${output?.sha256}`;
    return output !== null && isSame ? inputFrom(output) : null;
  }
  const sha256 = digestOf(file);
  const upload = await blob(db, { tenant, sha256 });
  if (upload !== null) return { blob: file.blob, size_bytes: upload.size_bytes, from: null };
  if (!mayReadJobs) return null;
  const named = { tenant, sha256 };
  const output = (await selectByDigest.first(db, named)) ?? (await selectLargeByDigest.first(db, named));
  return output === null ? null : inputFrom(output);
}

function inputFrom({ job_id, path, size_bytes, sha256 }: OutputName & { size_bytes: number; sha256: string }): Input {
  return { blob: `sha256:${sha256}`, size_bytes, from: { job_id, path } };
}

interface EarlierOutput extends ResolvedOutput {
  readonly size_bytes: number;
}

/** The earlier submission with this key; null if there was none. */
export async function submissionOfKey(db: StoreDatabase, key: { tenant: string; key: string }) {
  return await selectEarlier.first(db, key);
}

/** The outputs given to the earlier job with this key, as they were resolved when that job was accepted. */
async function outputsOfKey(
  db: StoreDatabase,
  key: { tenant: string; key: string },
): Promise<readonly EarlierOutput[]> {
  const stored = await submissionOfKey(db, key);
  if (stored === null) return [];
  const peer = await peerOf(db, { tenant: key.tenant, job_id: stored.job_id });
  const other = peer === null ? null : await selectStored.first(db, { tenant: key.tenant, job_id: peer });
  return [...outputsIn(stored), ...(other === null ? [] : outputsIn(other))];
}

function outputsIn(stored: Pick<JobSpecTable, 'requested_spec' | 'evidence'>): readonly EarlierOutput[] {
  const files = inputsOf(JSON.parse(stored.requested_spec) as StoredSpec);
  const { input_artifacts } = JSON.parse(stored.evidence ?? '{"input_artifacts":[]}') as SubmissionEvidence;
  const sizes = new Map(input_artifacts.map(({ path, size_bytes }) => [path, size_bytes]));
  return files.filter(isOutput).map((file) => ({ ...file, size_bytes: sizes.get(file.path) ?? 0 }));
}

/** The bytes that the earlier submission got for the same file; null if that submission did not name the file. */
function asBefore(file: NamingFile, outputs: readonly EarlierOutput[]): Input | null {
  const found = outputs.find(({ path, from, blob }) => {
    if (path !== file.path || (file.blob !== undefined && file.blob !== blob)) return false;
    return !('from' in file) || (file.from.job_id === from.job_id && file.from.path === from.path);
  });
  return found ?? null;
}
