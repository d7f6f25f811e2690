import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LANGUAGE_RUNS } from '../program/language-runs.ts';

test('step.pl leaves the source file out of a session’s state, for every language whose state it loads and saves', () => {
  const step = readFileSync(new URL('session/step.pl', import.meta.url), 'utf8');
  const leftOut = /^my %OWN = .* qw\((.*)\);$/m.exec(step)?.[1]?.split(' ') ?? [];
  const runs = Object.values(LANGUAGE_RUNS).filter(({ guest, compiler }) => guest === 'launch.sh' && compiler === null);
  expect(runs.length).toBeGreaterThan(1);
  expect(leftOut.filter((name) => name.startsWith('main.')).sort()).toEqual(runs.map(({ source }) => source).sort());
});
