/**
 * The directory with everything that an auditor needs about one job: its files, and the manifest that lists them. `vouchbox
 * export` writes it, and `service-verify directory` reads it. The manifest is not signed. It shows accidental damage; the
 * attestation shows forgery. docs/VERIFYING.md, the export directory.
 */
import {
  blobBytesMax,
  codeBytesMax,
  envelopeBytesMax,
  filesMax,
  largeOutputsBytesMax,
  pathProblem,
  resultArtifactBytesMax,
} from '@vouchbox/protocol/vocabulary';
import { canonicalJson } from './canonical-json.ts';
import { digestOf, type ExportContent, type FileDigest } from './export-content.ts';
import { logProofBytesMax } from './log/log-proof.ts';
import { isJsonObject, parseStrictJson, type Refused, refused } from './strict-json.ts';

export const JOB_EXPORT_TYPE = 'urn:svc:job-export:v1';

/** The manifest, which lists every other file. */
export const EXPORT_MANIFEST = 'manifest.json';

/** The files that an export always has. */
export const EXPORT_FILES = {
  /** The stored bytes of the DSSE envelope. */
  envelope: 'attestation.dsse.json',
  /** The stored bytes of the result artifact. */
  result: 'result.json',
  /** The receipt as stored: canonical JSON. */
  receipt: 'receipt.json',
  /** Every event in order of `seq`, one JSON object per line. */
  events: 'events.ndjson',
  /**
   * The key that signed the envelope, for comparison only. A key that comes together with what it signed is no trust anchor.
   */
  publicKey: 'public-key.pem',
} as const;

/** The other files that an export may have: the submission's own bytes. Input and output files keep their paths. */
export const EXPORT_OPTIONAL_FILES = {
  code: 'code',
  stdin: 'stdin',
  /** The texts whose digests are the receipt's `args_sha256` and `env_sha256`. */
  args: 'args.json',
  env: 'env.json',
  /** The text whose digest is the receipt's `policy_sha256`. */
  policy: 'policy.json',
  /** The proof that the service's log has the envelope. Its name ends as https://c2sp.org/tlog-proof asks. */
  logProof: 'log.tlog-proof',
} as const;

/** The files that a verifier reads whole. For every other file it needs only the size and the digest. */
export const EXPORT_FILES_READ_WHOLE: ReadonlySet<string> = new Set([
  ...[EXPORT_MANIFEST, ...Object.values(EXPORT_FILES)],
  EXPORT_OPTIONAL_FILES.policy,
  EXPORT_OPTIONAL_FILES.logProof,
]);

/** The most bytes that a history may have. This is far above what the recording caps allow. */
export const historyBytesMax = 64 * 1024 * 1024;
const manifestBytesMax = 256 * 1024;
const receiptBytesMax = envelopeBytesMax;
const publicKeyBytesMax = 4096;
/** The most bytes of a policy: enough for the greatest number of outputs with the longest paths, every character escaped. */
const policyBytesMax = 256 * 1024;

/** The most bytes of arguments or variables: enough for the names and for all words with every character escaped. */
const wordsBytesMax = 256 * 1024;

/** The most files: the manifest, the files with fixed names, and a job's input files, output files and large outputs. */
export const exportFilesMax = 1 + 5 + 6 + 3 * filesMax;

export interface ExportedFile extends FileDigest {
  readonly path: string;
}

export interface ExportManifest {
  readonly _type: typeof JOB_EXPORT_TYPE;
  readonly tenant: string;
  readonly job_id: string;
  readonly files: readonly ExportedFile[];
}

/** The bytes of a manifest for these files. */
export function exportManifest(
  job: Pick<ExportManifest, 'tenant' | 'job_id'>,
  files: ReadonlyMap<string, ExportContent>,
): Uint8Array<ArrayBuffer> {
  const manifest: ExportManifest = {
    _type: JOB_EXPORT_TYPE,
    tenant: job.tenant,
    job_id: job.job_id,
    files: Array.from(files, ([path, content]) => ({ path, ...digestOf(content) })),
  };
  return new TextEncoder().encode(canonicalJson(manifest));
}

/** The largest size that an export's file with this path may have; null if an export cannot have such a file. */
export function exportedFileBytesMax(path: string): number | null {
  const fixed = FIXED_BYTES_MAX.get(path);
  if (fixed !== undefined) return fixed;
  if (pathProblem(path, 'input') === null) return blobBytesMax;
  return pathProblem(path, 'output') === null ? largeOutputsBytesMax : null;
}

export type ManifestResult = { readonly kind: 'manifest'; readonly manifest: ExportManifest } | Refused;

/**
 * Reads a manifest. In a good one, every path is one that an export may have, no path is listed twice, and all required files are
 * listed.
 */
export function readExportManifest(bytes: Uint8Array): ManifestResult {
  const json = parseStrictJson(bytes);
  if (json.kind === 'refused') return json;
  if (!isJsonObject(json.value)) return refused('it is not a JSON object');
  const { _type, tenant, job_id, files } = json.value;
  if (_type !== JOB_EXPORT_TYPE) return refused(`its _type is not ${JOB_EXPORT_TYPE}`);
  if (typeof tenant !== 'string' || typeof job_id !== 'string') return refused('it names no tenant or no job');
  if (!Array.isArray(files) || !files.every(isExportedFile)) return refused('an entry of its files is malformed');
  const paths = new Set(files.map(({ path }) => path));
  if (paths.size !== files.length) return refused('it lists a file twice');
  const missing = Object.values(EXPORT_FILES).find((path) => !paths.has(path));
  if (missing !== undefined) return refused(`it does not list ${missing}`);
  return { kind: 'manifest', manifest: { _type, tenant, job_id, files } };
}

const FIXED_BYTES_MAX: ReadonlyMap<string, number> = new Map([
  [EXPORT_MANIFEST, manifestBytesMax],
  [EXPORT_FILES.envelope, envelopeBytesMax],
  [EXPORT_FILES.result, resultArtifactBytesMax],
  [EXPORT_FILES.receipt, receiptBytesMax],
  [EXPORT_FILES.events, historyBytesMax],
  [EXPORT_FILES.publicKey, publicKeyBytesMax],
  [EXPORT_OPTIONAL_FILES.code, codeBytesMax],
  [EXPORT_OPTIONAL_FILES.stdin, blobBytesMax],
  [EXPORT_OPTIONAL_FILES.args, wordsBytesMax],
  [EXPORT_OPTIONAL_FILES.env, wordsBytesMax],
  [EXPORT_OPTIONAL_FILES.policy, policyBytesMax],
  [EXPORT_OPTIONAL_FILES.logProof, logProofBytesMax],
]);

function isExportedFile(value: unknown): value is ExportedFile {
  if (!isJsonObject(value)) return false;
  const { path, size_bytes, sha256 } = value;
  if (typeof path !== 'string' || path === EXPORT_MANIFEST || exportedFileBytesMax(path) === null) return false;
  return Number.isSafeInteger(size_bytes) && typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256);
}
