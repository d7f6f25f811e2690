/** Uploads input files that are too large to be sent inline, so that `vouchbox run --file` takes them as well. */
import type { CallOptions, InputFile, JobSubmission, ServiceClient } from '@vouchbox/client';
import { fileBytesMax, filesTotalBytesMax } from '@vouchbox/protocol/vocabulary';

/** Uploads a submission's large files and names them by digest. An older service gets the unchanged submission and refuses it. */
export async function withUploads(
  submission: JobSubmission,
  client: Pick<ServiceClient, 'capabilities' | 'upload'>,
  call: CallOptions = {},
): Promise<JobSubmission> {
  const large = new Set(largeFiles((submission.files ?? []).filter((file) => 'content_base64' in file)));
  if (large.size === 0 || !(await client.capabilities(call)).features.includes('blobs')) return submission;
  const files: JobSubmission['files'] = [];
  for (const file of submission.files ?? []) {
    if (!('content_base64' in file && large.has(file))) files.push(file);
    else
      files.push({
        path: file.path,
        blob: (await client.upload(Buffer.from(file.content_base64, 'base64'), call)).blob,
      });
  }
  return { ...submission, files };
}

/** The files to upload: those too large to be inline, then the largest others, until the remaining ones fit inline together. */
function largeFiles(files: readonly InputFile[]): readonly InputFile[] {
  const bySize = files.map((file) => ({ file, bytes: Buffer.byteLength(file.content_base64, 'base64') }));
  bySize.sort((one, other) => other.bytes - one.bytes);
  let left = bySize.reduce((sum, { bytes }) => sum + bytes, 0);
  const large: InputFile[] = [];
  for (const { file, bytes } of bySize) {
    if (bytes <= fileBytesMax && left <= filesTotalBytesMax) break;
    large.push(file);
    left -= bytes;
  }
  return large;
}
