/** How much memory some processes have together. */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';

const pageBytes = 4096;
const entryBytes = 8;
/** Bits in an entry's upper half: whether the page is present, and the upper part of its frame number. proc_pid_pagemap(5). */
const present = 0x8000_0000;
const upperFrameBits = 0x007f_ffff;

/**
 * Resident memory of these processes together, in MiB. A page counts once, even if several of these processes have mapped it. It
 * counts as a whole, even if other processes have mapped it too. Only root can read which pages a process has.
 */
export function residentTogetherMib(pids: readonly number[]): number {
  const frames = new Set<number>();
  for (const pid of pids) addFrames(pid, frames);
  return (frames.size * pageBytes) / 2 ** 20;
}

function addFrames(pid: number, frames: Set<number>): void {
  const pagemap = openSync(`/proc/${pid}/pagemap`, 'r');
  try {
    for (const { first, end } of mappingsOf(pid)) addFramesBetween(pagemap, { first, end, frames });
  } finally {
    closeSync(pagemap);
  }
}

interface Mapping {
  /** The numbers of a mapping's pages. `end` is the first page after the mapping. */
  readonly first: number;
  readonly end: number;
}

/** The mappings of a process, except those that it may not access: V8 reserves terabytes of such memory. */
function mappingsOf(pid: number): readonly Mapping[] {
  const lines = readFileSync(`/proc/${pid}/maps`, 'latin1').matchAll(/^([0-9a-f]+)-([0-9a-f]+) (\S+) .*$/gm);
  return [...lines]
    .filter(([line, , , rights = '']) => /[rwx]/.test(rights) && !line.endsWith('[vsyscall]'))
    .map(([, start = '0', end = '0']) => ({
      first: Number.parseInt(start, 16) / pageBytes,
      end: Number.parseInt(end, 16) / pageBytes,
    }));
}

function addFramesBetween(pagemap: number, { first, end, frames }: Mapping & { frames: Set<number> }): void {
  const entries = Buffer.alloc((end - first) * entryBytes);
  const length = readSync(pagemap, entries, 0, entries.length, first * entryBytes);
  for (let at = 0; at + entryBytes <= length; at += entryBytes) {
    const upper = entries.readUInt32LE(at + 4);
    if (upper >= present) frames.add((upper & upperFrameBits) * 2 ** 32 + entries.readUInt32LE(at));
  }
}
