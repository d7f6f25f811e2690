/**
 * Facts about this host that are found out once after each boot. They are kept in files below `/run` that only root can write and
 * that do not outlive the boot.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** A text that differs after each boot. Remembered facts contain it, in case their file outlives the boot. */
export function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
}

/** The JSON value of a file; null if there is none or it cannot be parsed, so that the fact is found out again. */
export function recall(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

/** Replaces the content of a file. Throws if it cannot be written. */
export function remember(file: string, facts: unknown): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o711 });
  writeFileSync(file, JSON.stringify(facts), { mode: 0o600 });
}
