/** An exported job: files that its manifest lists, and no others. docs/VERIFYING.md, the export directory. */
import { EXPORT_MANIFEST, type ExportManifest, readExportManifest, sha256Hex } from '@vouchbox/evidence';
import { type Check, checked, failed } from './report.ts';

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
  for (const { name, isGood, detail } of fileChecks(result.manifest, files)) {
    if (!isGood) return { problem: `${name}: ${detail}` };
  }
  return { manifest: result.manifest, files };
}

/** Compares the files beside a manifest with it: those that it lists, then those that it does not. */
export function* fileChecks(manifest: ExportManifest, files: ExportFiles): Generator<Check> {
  for (const { path, size_bytes, sha256 } of manifest.files) {
    const bytes = files.get(path);
    if (bytes === undefined) yield failed(path, 'it is listed and missing');
    else if (bytes.length !== size_bytes) {
      yield failed(path, `it has ${bytes.length} bytes, and ${size_bytes} are listed`);
    } else {
      const digest = sha256Hex(bytes);
      const problem = digest === sha256 ? null : `its digest is ${digest}, and ${sha256} is listed`;
      yield checked(path, problem, `${bytes.length} bytes, sha256:${digest}`);
    }
  }
  const listed = new Set([EXPORT_MANIFEST, ...manifest.files.map(({ path }) => path)]);
  for (const path of files.keys()) if (!listed.has(path)) yield failed(path, 'it is not listed');
}
