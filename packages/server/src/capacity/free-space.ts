/**
 * The part of the file system that no new job may take, kept so that every job that was admitted can still be recorded
 * to its end. Spec § POST /v1/jobs 6b.
 */
import { statfs } from 'node:fs/promises';
import { ServiceError } from '../service-error.ts';

const MIB = 1024 * 1024;

/** The reserve where the operator sets none is the larger of the two. */
const reserveBytesDefault = 1024 * MIB;
const reserveShareDefault = 0.05;

/** For how long one look at the file system is believed. */
const lookMilliseconds = 500;
const retryAfterSeconds = 10;

export interface FreeSpaceReserve {
  /**
   * Resolves while the reserve is free.
   *
   * @throws ServiceError `insufficient_storage` where it is not, `internal` where the file system cannot be asked.
   */
  check(): Promise<void>;
}

export interface FreeSpaceOptions {
  /** A directory of the file system to watch: the data directory. */
  readonly directory: string;
  /** MiB; null stands for the larger of 1 GiB and 5 % of the file system. */
  readonly reserveMb: number | null;
}

/** Watches one file system. Calls within half a second share one look. */
export function createFreeSpaceReserve({ directory, reserveMb }: FreeSpaceOptions): FreeSpaceReserve {
  let look: { at: number; isFree: Promise<boolean> } | null = null;
  return {
    async check() {
      const now = performance.now();
      if (look === null || now - look.at > lookMilliseconds)
        look = { at: now, isFree: isReserveFree(directory, reserveMb) };
      if (await look.isFree) return;
      throw new ServiceError('insufficient_storage', 'The free-space reserve forbids another job.', {
        retryAfterSeconds,
      });
    },
  };
}

async function isReserveFree(directory: string, reserveMb: number | null): Promise<boolean> {
  try {
    const { bsize, blocks, bavail } = await statfs(directory);
    const reserve =
      reserveMb === null ? Math.max(reserveBytesDefault, blocks * bsize * reserveShareDefault) : reserveMb * MIB;
    return bavail * bsize >= reserve;
  } catch (cause) {
    throw new ServiceError('internal', 'The free space cannot be read.', { cause });
  }
}
