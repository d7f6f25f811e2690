/** An exported job: exactly the files that its manifest lists. docs/VERIFYING.md, the export directory. */
import {
  digestOf,
  EXPORT_FILES_READ_WHOLE,
  EXPORT_MANIFEST,
  type ExportContent,
  type ExportManifest,
  type FileDigest,
  readExportManifest,
} from '@vouchbox/evidence';
import { EXIT } from './exit-code.ts';

/**
 * The files of an export, keyed by path. Files of evidence have their bytes. Any other file has its bytes or only its size and
 * digest: nothing else about it is checked.
 */
export type ExportFiles = ReadonlyMap<string, Uint8Array<ArrayBuffer> | FileDigest>;

export interface ExportedJob {
  readonly manifest: ExportManifest;
  /** Every listed file, by path. */
  readonly files: ExportFiles;
}

export interface ExportProblem {
  readonly problem: string;
  /** `not_an_export`: something is there that no export has. `record`: a listed file is missing or differs from the manifest. */
  readonly exitCode: typeof EXIT.notAnExport | typeof EXIT.record;
}

/** The export in these files, or why they are not an export. One of the files is the manifest. */
export function parseExport(given: ExportFiles | ExportProblem): ExportedJob | ExportProblem {
  if (isProblem(given)) return given;
  const files = new Map(given);
  const manifestBytes = wholeFile(files, EXPORT_MANIFEST);
  if (manifestBytes === undefined) return notAnExport(`there is no ${EXPORT_MANIFEST}`);
  files.delete(EXPORT_MANIFEST);
  const result = readExportManifest(manifestBytes);
  if (result.kind === 'refused') return notAnExport(`${EXPORT_MANIFEST} is refused: ${result.reason}`);
  const { manifest } = result;
  return listingProblem(manifest, files) ?? { manifest, files };
}

export function isProblem(given: ExportFiles | ExportProblem): given is ExportProblem {
  return 'problem' in given;
}

/** The bytes of a file that is read whole; undefined if it is not there, or only its digest is known. */
export function wholeFile(files: ExportFiles, path: string): Uint8Array<ArrayBuffer> | undefined {
  const content = files.get(path);
  return content instanceof Uint8Array ? content : undefined;
}

/** The files of an export that was just made, for example from a service's answers. Their bytes are copied. */
export function ownBytes(files: ReadonlyMap<string, ExportContent>): ExportFiles {
  return new Map(
    Array.from(files, ([path, content]) => [path, content instanceof Uint8Array ? new Uint8Array(content) : content]),
  );
}

/** The problem with a file or a directory that no export has. */
export function notAnExport(problem: string): ExportProblem {
  return { problem, exitCode: EXIT.notAnExport };
}

/** The first difference between the manifest and the files. */
function listingProblem(manifest: ExportManifest, files: ExportFiles): ExportProblem | null {
  const listed = new Set(manifest.files.map(({ path }) => path));
  const surplus = Array.from(files.keys()).find((path) => !listed.has(path));
  if (surplus !== undefined) return notAnExport(`${surplus} is not listed`);
  for (const { path, size_bytes, sha256 } of manifest.files) {
    const content = files.get(path);
    if (content === undefined) return { problem: `${path} is listed but missing`, exitCode: EXIT.record };
    if (EXPORT_FILES_READ_WHOLE.has(path) && wholeFile(files, path) === undefined)
      return notAnExport(`${path} was given without its bytes`);
    const found = digestOf(content);
    if (found.size_bytes !== size_bytes || found.sha256 !== sha256)
      return { problem: `${path} is not as it is listed`, exitCode: EXIT.record };
  }
  return null;
}
