/** The libraries of a run: the digest of an archive that the service has, or a file, which is uploaded. */
import { openAsBlob } from 'node:fs';
import type { ServiceClient } from '@vouchbox/client';
import type { JobSubmission } from '@vouchbox/protocol';
import { EXIT } from '../failures/exit-code.ts';
import { UsageError } from '../failures/usage-error.ts';
import { type AccessOptions, requireService } from '../service/service-access.ts';
import { type JsonOption, printResult } from '../terminal/print.ts';

export async function namedLibraries(
  given: string,
  client: Pick<ServiceClient, 'upload'>,
): Promise<NonNullable<JobSubmission['libraries']>> {
  if (/^sha256:[0-9a-f]{64}$/.test(given)) return { blob: given };
  return { blob: (await client.upload(await fileAt(given))).blob };
}

async function fileAt(path: string): Promise<Blob> {
  try {
    return await openAsBlob(path);
  } catch (error) {
    const problem = `${path} is neither sha256:… nor a file: ${(error as Error).message}`;
    throw new UsageError(problem, { cause: error });
  }
}

/** `vouchbox libraries upload`. */
export async function uploadLibraries(file: string, options: AccessOptions & JsonOption): Promise<number> {
  await using service = requireService(options);
  const { blob } = await namedLibraries(file, service.client);
  printResult(options, `${blob}\n`, { blob });
  return EXIT.ok;
}
