/** `known-differences.json`: programs that pass on the host itself and fail in a cell, each with the reason. */
import { readFileSync } from 'node:fs';
import type { ClassName } from './in-cell.ts';

export interface KnownDifference {
  readonly program: string;
  readonly classes: readonly ClassName[];
  /** Why the difference is accepted: what a cell lacks, or what gVisor's kernel does differently. */
  readonly reason: string;
}

export const KNOWN_DIFFERENCES = JSON.parse(
  readFileSync(new URL('known-differences.json', import.meta.url), 'utf8'),
) as readonly KnownDifference[];

/** The reason why a program may differ in a class; null if it must not. */
export function knownReason(program: string, className: ClassName): string | null {
  return (
    KNOWN_DIFFERENCES.find((known) => known.program === program && known.classes.includes(className))?.reason ?? null
  );
}
