/** Reads a whole stored file, even if an answer breaks off. */
import { createHash } from 'node:crypto';
import { type CallOptions, type ServiceClient, TransportFailure } from '@vouchbox/client';

/** How often a file is requested at most if the answers break off. */
const triesMax = 3;

interface Reader<Result> {
  readonly read: (pieces: AsyncIterable<Uint8Array>) => Promise<Result>;
  /** Whether the reader can take the file from its start again after this failure. */
  readonly takesAgain: (failure: TransportFailure) => boolean;
}

/** Gives a file to a reader, piece by piece. If the answer breaks off, the reader gets the whole file again. */
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
