/** Reads a stored file whole, even if an answer breaks off. */
import { createHash } from 'node:crypto';
import { type CallOptions, type ServiceClient, TransportFailure } from '@vouchbox/client';

/** How often a file is requested if the answer breaks off. */
const triesMax = 3;

interface Reader<Result> {
  readonly read: (pieces: AsyncIterable<Uint8Array>) => Promise<Result>;
  /** Whether the reader takes the whole file again after this failure. */
  readonly takesAgain: (failure: TransportFailure) => boolean;
}

/** Gives a file to a reader, piece by piece, and all of it again if the answer breaks off. */
export async function readWhole<Result>(
  client: Pick<ServiceClient, 'downloadPieces'>,
  blob: string,
  { read, takesAgain, ...call }: Reader<Result> & CallOptions,
): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await read(await client.downloadPieces(blob, { ...call, hash: createHash('sha256') }));
    } catch (error) {
      if (!(error instanceof TransportFailure && takesAgain(error)) || tries >= triesMax) throw error;
    }
  }
}
