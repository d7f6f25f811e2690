/** Fetches the requested large outputs of a job, piece by piece, and writes each to its file. */
import { existsSync } from 'node:fs';
import type { CallOptions, ServiceClient, TransportFailure } from '@vouchbox/client';
import { sha256Hex } from '@vouchbox/evidence';
import type { ArtifactRecord, FoldedResult } from '@vouchbox/protocol';
import { type WantedOutput, type WrittenOutput, type WrittenOutputs, writeTarget } from './output-files.ts';
import { readWhole } from './whole-blob.ts';

/** Writes each large output that came back. A file that arrives incomplete is removed again. */
export async function fetchOutputs(
  wanted: readonly WantedOutput[],
  records: readonly ArtifactRecord[],
  client: Pick<ServiceClient, 'downloadPieces'>,
  { signal }: CallOptions = {},
): Promise<WrittenOutputs> {
  const written: WrittenOutput[] = [];
  const missing: WrittenOutputs['missing'][number][] = [];
  for (const output of wanted) {
    const { path, target } = output;
    const record = records.find((one) => one.path === path);
    if (record === undefined) {
      missing.push({ ...output, isPattern: false });
      continue;
    }
    const { size_bytes, sha256 } = record;
    // The pieces end with an error unless the whole file came with the right digest. If they break off, a target that is a plain
    // file is removed, and the output is fetched again. For a target that is a device, nothing is fetched again.
    const takesAgain = ({ reason }: TransportFailure) => reason === 'truncated' && !existsSync(target);
    const read = (pieces: AsyncIterable<Uint8Array>) => writeTarget(target, pieces);
    await readWhole(client, `sha256:${sha256}`, { read, takesAgain, signal });
    written.push({ path, file: target, size_bytes, sha256 });
  }
  return { written, missing };
}

/** Writes the whole standard output. Takes it from the result if that has every byte; otherwise fetches it by its digest. */
export async function fetchStdout(
  wanted: WantedOutput,
  { status, stdout, truncated, violations, large_outputs = [] }: FoldedResult,
  client: Pick<ServiceClient, 'downloadPieces'>,
  { signal }: CallOptions = {},
): Promise<WrittenOutputs> {
  const fetched = await fetchOutputs([wanted], large_outputs, client, { signal });
  const isLost = truncated || status === 'error' || violations.some(({ path }) => path === wanted.path);
  if (fetched.written.length > 0 || isLost) return fetched;
  const { path, target } = wanted;
  await writeTarget(target, stdout);
  const sha256 = sha256Hex(stdout);
  return { written: [{ path, file: target, size_bytes: Buffer.byteLength(stdout), sha256 }], missing: [] };
}
