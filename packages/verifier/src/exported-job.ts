/** An exported job: files that its manifest lists, and no others. docs/VERIFYING.md, the export directory. */
import { EXPORT_MANIFEST, type ExportManifest, readExportManifest, sha256Hex } from '@vouchbox/evidence';

/** The bytes of files by their path. */
export type ExportFiles = ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

export interface ExportedJob {
  readonly manifest: ExportManifest;
  /** The bytes of every listed file, by path. */
  readonly files: ExportFiles;
}

export interface ExportProblem {
  readonly problem: string;
}

/** The export in these files, one of which is the manifest; or why they are not an export. */
export function parseExport(given: ExportFiles): ExportedJob | ExportProblem {
  const files = new Map(given);
  const manifestBytes = files.get(EXPORT_MANIFEST);
  if (manifestBytes === undefined) return { problem: `there is no ${EXPORT_MANIFEST}` };
  files.delete(EXPORT_MANIFEST);
  const result = readExportManifest(manifestBytes);
  if (result.kind === 'refused') return { problem: `${EXPORT_MANIFEST} is refused: ${result.reason}` };
  const problem = listingProblem(result.manifest, files);
  return problem === null ? { manifest: result.manifest, files } : { problem };
}

/** The first difference between the manifest and the files. */
function listingProblem(manifest: ExportManifest, files: ExportFiles): string | null {
  for (const { path, size_bytes, sha256 } of manifest.files) {
    const bytes = files.get(path);
    if (bytes === undefined) return `${path} is listed and missing`;
    if (bytes.length !== size_bytes || sha256Hex(bytes) !== sha256) return `${path} is not as it is listed`;
  }
  const listed = new Set(manifest.files.map(({ path }) => path));
  const surplus = Array.from(files.keys()).find((path) => !listed.has(path));
  return surplus === undefined ? null : `${surplus} is not listed`;
}
