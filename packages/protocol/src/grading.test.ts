import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { compilerProblem, type TestEnd } from './grading.ts';

interface Case extends TestEnd {
  readonly name: string;
  readonly problem: string | null;
}

/** The Python client's tests read these cases too. */
const file = new URL('../../../test/vectors/grading/compiler-ends.json', import.meta.url);
const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { readonly cases: readonly Case[] };

test.each(cases)('$name', ({ problem, ...end }) => {
  expect(compilerProblem(end)).toBe(problem);
});
