/** A run's libraries: the digest of an archive that the service already has, or a file to upload. */
import { createReadStream, openAsBlob } from 'node:fs';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { CallOptions, ServiceClient } from '@vouchbox/client';
import type { JobSubmission } from '@vouchbox/protocol';
import { UsageError } from '../failures/usage-error.ts';
import { type AccessOptions, requireService } from '../service/service-access.ts';
import { type JsonOption, printResult } from '../terminal/print.ts';

export async function namedLibraries(
  given: string,
  client: Pick<ServiceClient, 'upload'>,
  call: CallOptions = {},
): Promise<NonNullable<JobSubmission['libraries']>> {
  if (/^sha256:[0-9a-f]{64}$/.test(given)) return { blob: given };
  const file = await fileAt(given);
  await checkWhole(given);
  return { blob: (await client.upload(file, call)).blob };
}

async function fileAt(path: string): Promise<Blob> {
  try {
    return await openAsBlob(path);
  } catch (error) {
    const problem = `${path} is neither sha256:… nor a file: ${(error as Error).message}`;
    throw new UsageError(problem, { cause: error });
  }
}

/** Finds a damaged archive on this host, before a cell would refuse it. @throws UsageError */
async function checkWhole(path: string): Promise<void> {
  const nowhere = new Writable({ write: (_piece, _encoding, done) => done() });
  try {
    await pipeline(createReadStream(path), createGunzip(), nowhere);
  } catch (error) {
    const problem = `${path} is damaged, or is not a tar archive in gzip: ${(error as Error).message}`;
    throw new UsageError(`${problem}; \`vouchbox libraries pack\` writes such archives`, { cause: error });
  }
}

/** `vouchbox libraries upload`. */
export async function uploadLibraries(file: string, options: AccessOptions & JsonOption): Promise<void> {
  await using service = requireService(options);
  const { blob } = await namedLibraries(file, service.client);
  printResult(options, `${blob}\n`, { blob });
}
