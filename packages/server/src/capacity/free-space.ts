/**
 * The reserve: the part of the file system that no new job may take. It is kept free so that every started job can be recorded to
 * its end. Spec § POST /v1/jobs 6b.
 */
import { statfsSync } from 'node:fs';
import {
  filesTotalBytesMax,
  largeOutputsBytesMax,
  resultArtifactBytesMax,
  streamBytesMax,
  streamRecordsMax,
} from '@vouchbox/protocol';
import { ServiceError } from '../ground/service-error.ts';

const MIB = 1024 * 1024;

/** The default reserve is the larger of these two. */
const reserveBytesDefault = 1024 * MIB;
const reserveShareDefault = 0.05;

const retryAfterSeconds = 10;

/** How many bytes one byte of a character may take when JSON escapes it. */
const escapeFactor = 6;
/** The size of a record's row without its text: digests, keys, time. */
const recordBytes = 512;
/**
 * The most bytes that a job may write from its start until its result is signed: the events of both streams, the artifacts, the
 * large outputs and the result.
 */
const jobBytesMax =
  2 * (escapeFactor * streamBytesMax + recordBytes * streamRecordsMax) +
  filesTotalBytesMax +
  largeOutputsBytesMax +
  resultArtifactBytesMax;
/** How many of these bytes the store's write-ahead log may also hold until a checkpoint moves them. */
const logBytesMax = 32 * MIB;

export interface FreeSpaceReserve {
  /**
   * Returns if the reserve is free.
   *
   * @throws ServiceError `insufficient_storage` if the reserve is not free, `internal` if the file system cannot be asked
   */
  check(): void;
  /**
   * How many jobs may be in flight if each needs room for the most that a job may write. It is 0 while the reserve is not free,
   * and otherwise at least 1. Started jobs may use up the reserve.
   *
   * @throws ServiceError `internal` if the file system cannot be asked
   */
  roomForJobs(): number;
}

export interface FreeSpaceOptions {
  /** A directory of the file system to watch: the data directory. */
  readonly directory: string;
  /** MiB; null means the larger of 1 GiB and 5 % of the file system. */
  readonly reserveMb: number | null;
}

/**
 * Watches one file system. The kernel answers from memory within microseconds. Each start of a job reads the space
 * again, because jobs may write more than the reserve within half a second.
 */
export function createFreeSpaceReserve(options: FreeSpaceOptions): FreeSpaceReserve {
  const roomForJobs = () => roomIn(options);
  return {
    roomForJobs,
    check() {
      if (roomForJobs() > 0) return;
      throw new ServiceError('insufficient_storage', 'The free-space reserve forbids another job.', {
        retryAfterSeconds,
      });
    },
  };
}

function roomIn({ directory, reserveMb }: FreeSpaceOptions): number {
  try {
    const { bsize, blocks, bavail } = statfsSync(directory);
    const free = bavail * bsize;
    const reserve =
      reserveMb === null ? Math.max(reserveBytesDefault, blocks * bsize * reserveShareDefault) : reserveMb * MIB;
    return free < reserve ? 0 : Math.max(1, Math.floor((free - logBytesMax) / jobBytesMax));
  } catch (cause) {
    throw new ServiceError('internal', 'The free space cannot be read.', { cause });
  }
}
