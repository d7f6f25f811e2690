import { expect, test } from 'vitest';
import type { JobEvent } from './contract-types.ts';

const event = (kind: string, data: unknown) => ({ kind, data }) as JobEvent;

/** This compiles only if an event's kind determines the type of its data. */
function said(given: JobEvent): string | number | null {
  if (given.kind === 'stdout' || given.kind === 'stderr') return given.data.text;
  if (given.kind === 'finished') return given.data.exit_code;
  if (given.kind === 'violation') return given.data.message;
  return `${String(given.kind)} ${JSON.stringify(given.data)}`;
}

test("an event's kind determines the type of its data, and the data of an unknown kind has the type unknown", () => {
  expect(said(event('stdout', { text: 'a' }))).toBe('a');
  expect(said(event('finished', { exit_code: 3 }))).toBe(3);
  expect(said(event('a-kind-of-tomorrow', [1]))).toBe('a-kind-of-tomorrow [1]');
});
