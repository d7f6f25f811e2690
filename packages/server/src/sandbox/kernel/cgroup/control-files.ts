/** Reads and writes the one-value files of a control group, and removes its directories. */
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Reading, Writing } from './cgroup.ts';

const REMOVE_MILLISECONDS_MAX = 10_000;

/** The only number in a file; `max` means infinity. */
export function parseNumber(text: string): number {
  const word = text.trim();
  return word === 'max' ? Number.POSITIVE_INFINITY : Number(word);
}

/** A function that reads one value from a text of `name value` lines; 0 if the kernel does not count it. */
export function memberOf(name: string): (text: string) => number {
  return (text) => {
    const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `));
    return line === undefined ? 0 : Number(line.slice(name.length + 1));
  };
}

/** Reads one number of a group; NaN if no file contains it. A reading names its directory by index. */
export function readFrom(directories: readonly string[], reading: Reading | null): number {
  if (reading === null) return Number.NaN;
  const { directory, file, parse } = reading;
  return parse(readFileSync(`${directories[directory]}/${file}`, 'utf8'));
}

/** Writes one value after the other. */
export function writeTo(directories: readonly string[], writings: readonly Writing[]): void {
  for (const { directory, file, value } of writings) write(`${directories[directory]}/${file}`, value);
}

export function write(file: string, value: string | number): void {
  writeFileSync(file, String(value));
}

/** Writes a value, or does nothing if the group no longer exists. */
export function writeUnlessGone(file: string, value: number): void {
  try {
    write(file, value);
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

/** Process ids in a `cgroup.procs` file; none if the group is gone. */
export function readProcesses(file: string): number[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number);
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

export function childDirectories(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

function isGone(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === 'ENOENT' || code === 'ENODEV';
}

/** Makes every directory, or none: an incomplete group would enforce only some limits. */
export function makeDirectories(directories: readonly string[]): void {
  const made: string[] = [];
  try {
    for (const directory of directories) {
      mkdirSync(directory);
      made.push(directory);
    }
  } catch (error) {
    made.forEach(removeDirectory);
    throw error;
  }
}

/** Removes an empty group's directory. False while the kernel still counts something in it. */
export function removeDirectory(directory: string): boolean {
  try {
    rmdirSync(directory);
    return true;
  } catch (error) {
    if (isGone(error)) return true;
    if ((error as NodeJS.ErrnoException).code === 'EBUSY') return false;
    throw error;
  }
}

/**
 * Removes every directory. While a process is alive it repeats `kill`. The kernel does not report when a v1 group
 * becomes empty, so this polls, at first after a millisecond and then more and more slowly.
 */
export async function killAndRemove(kill: () => void, directories: readonly string[]): Promise<void> {
  const deadline = performance.now() + REMOVE_MILLISECONDS_MAX;
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    if (directories.every(removeDirectory)) return;
    kill();
    if (performance.now() > deadline) throw new Error(`the control group ${directories[0]} does not become empty`);
    await delay(pause);
  }
}
