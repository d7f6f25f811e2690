/**
 * The address of the operator's socket in a data directory. The kernel takes at most 107 bytes for a socket's address,
 * so a longer path is reached through an open descriptor for its directory.
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';

const SOCKET_NAME = 'operator.sock';
const addressBytesMax = 103;

/** An address that can be bound and connected to until it is disposed. */
export interface SocketAddress extends AsyncDisposable {
  readonly path: string;
}

/** Rejects with the file system's error if a directory with a long path cannot be opened. */
export async function socketAddressOf(dataDir: string): Promise<SocketAddress> {
  const path = join(dataDir, SOCKET_NAME);
  if (Buffer.byteLength(path) <= addressBytesMax) return { path, [Symbol.asyncDispose]: async () => {} };
  const directory = await open(dataDir, constants.O_RDONLY | constants.O_DIRECTORY);
  return {
    path: `/proc/self/fd/${directory.fd}/${SOCKET_NAME}`,
    [Symbol.asyncDispose]: () => directory.close(),
  };
}
