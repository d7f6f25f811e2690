/**
 * Facts of this host that are found out once in each run of the machine. They are kept in files below `/run`, which go with
 * it, and in which root alone writes.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Another in each run of the machine: what is remembered names it, in case the file outlives the run. */
export function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
}

/** What a file remembers, as JSON; null if it remembers nothing, or nothing legible: it is found out again. */
export function recall(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

/** Has a file remember something in place of what it did. Throws where it cannot be written. */
export function remember(file: string, facts: unknown): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o711 });
  writeFileSync(file, JSON.stringify(facts), { mode: 0o600 });
}
