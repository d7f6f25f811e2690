/**
 * Reads an exported job from blobs, the form of files in a browser and in Node. The evidence is read into memory. Every other
 * file may have 64 MiB, so it is read piece by piece for its size and digest. Uses nothing that only Node has.
 */
import { digestPieces, EXPORT_FILES_READ_WHOLE, ExportBounds, exportedFileBytesMax } from '@vouchbox/evidence';
import { type ExportFiles, type ExportProblem, notAnExport } from './exported-job.ts';

/**
 * The files of an export for `parseExport`. All sizes are compared with the bounds of an export before any file is read. A file
 * with a path that no export has is digested too, so that `parseExport` can name it.
 *
 * @throws what the platform throws if a file cannot be read, or was changed meanwhile
 */
export async function readExportBlobs(blobs: ReadonlyMap<string, Blob>): Promise<ExportFiles | ExportProblem> {
  const bounds = new ExportBounds();
  for (const [path, { size }] of blobs) {
    const problem = exportedFileBytesMax(path) === null ? null : bounds.add(path, size);
    if (problem !== null) return notAnExport(`${path} ${problem}`);
  }
  const files = new Map<string, Uint8Array<ArrayBuffer> | Awaited<ReturnType<typeof digestPieces>>>();
  for (const [path, blob] of blobs) {
    const isRead = EXPORT_FILES_READ_WHOLE.has(path);
    files.set(path, isRead ? new Uint8Array(await blob.arrayBuffer()) : await digestPieces(piecesOf(blob)));
  }
  return files;
}

/** The pieces of a blob. They are read one by one, because not every browser can iterate over a stream. */
async function* piecesOf(blob: Blob): AsyncGenerator<Uint8Array, void> {
  const reader = blob.stream().getReader();
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    if (value !== undefined) yield value;
  }
}
