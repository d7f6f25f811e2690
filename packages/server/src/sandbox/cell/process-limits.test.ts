import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { limitRows, PROCESS_LIMITS, parseLimitRows } from './process-limits.ts';

const LIMITS = { fileBytes: 4096, cpuSeconds: 3, processes: 20 };

test('the limits of a process have the same names in TypeScript as in the table in C', () => {
  const header = readFileSync(new URL('../native/limits.h', import.meta.url), 'utf8');
  const names = [...header.matchAll(/^ {4}ROW\((\w+), \d+\)/gm)].map(([, name]) => name);
  expect(names).toEqual(Object.values(PROCESS_LIMITS));
});

test('the rows of limits are read in any order', () => {
  expect(limitRows(LIMITS)).toBe('FSIZE=4096 CPU=3 NPROC=20');
  expect(parseLimitRows('NPROC=20 FSIZE=4096 CPU=3\n')).toEqual(LIMITS);
});

test('a report without one of the limits is refused, because that limit may not be enforced', () => {
  expect(() => parseLimitRows('FSIZE=4096 CPU=3')).toThrow('did not say which limits it holds');
});
