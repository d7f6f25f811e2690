/**
 * The verdict of a grading, as far as it can be what the judge made of what it was given. Jobs, names, points and digests
 * are those that this grading knows: of the document only the word of each test is taken.
 */
import { type Grading, TEST_VERDICTS, type TestResult, VERDICT_SCHEMA, type Verdict } from '@vouchbox/protocol/grading';
import { canonicalJson } from './canonical-json.ts';
import type { Sha256 } from './digest.ts';
import { TransportFailure } from './failure.ts';
import { parseJson } from './parse-json.ts';

/** Sums of points may differ in their last digits: Python adds otherwise than JavaScript. */
const pointsSlack = 1e-6;

/** @throws TransportFailure `undecodable` for a document that the judge cannot have made of this grading */
export async function verdictOf(bytes: Uint8Array, grading: Grading, sha256: Sha256): Promise<Verdict> {
  const said = parseJson(bytes);
  const made = await verdictWith(wordsIn(said, grading.tests.length), grading, sha256);
  const { points, points_max } = said as Verdict;
  const isClose = near(points, made.points) && near(points_max, made.points_max);
  const verdict = { ...made, points, points_max };
  if (isClose && canonicalJson(said) === canonicalJson(verdict)) return verdict;
  return refuse('is not about this grading');
}

function wordsIn(said: unknown, count: number): readonly TestResult['verdict'][] {
  const { tests } = (said ?? {}) as { tests?: unknown };
  if (!Array.isArray(tests) || tests.length !== count) return refuse('has not one line for each test');
  return tests.map((test: { verdict?: unknown } | null) => {
    const word = TEST_VERDICTS.find((one) => one === test?.verdict);
    return word ?? refuse('has a line without a verdict');
  });
}

async function verdictWith(
  words: readonly TestResult['verdict'][],
  { program, tests }: Grading,
  sha256: Sha256,
): Promise<Verdict> {
  const digest = (text: string) => sha256(new TextEncoder().encode(text));
  const results = tests.map(async ({ name, points, job_id, receipt_sha256, stdout, expected, checker }, at) => {
    const verdict = words[at] as TestResult['verdict'];
    return {
      name,
      verdict,
      points: verdict === 'accepted' ? points : 0,
      points_max: points,
      job_id,
      receipt_sha256,
      stdout_sha256: await digest(stdout),
      expected_sha256: expected === null ? null : await digest(expected),
      checker,
    };
  });
  const all = await Promise.all(results);
  return {
    schema: VERDICT_SCHEMA,
    program,
    accepted: words.every((word) => word === 'accepted'),
    points: all.reduce((sum, { points }) => sum + points, 0),
    points_max: all.reduce((sum, { points_max }) => sum + points_max, 0),
    tests: all,
  };
}

function near(said: unknown, made: number): boolean {
  return typeof said === 'number' && Math.abs(said - made) <= pointsSlack * Math.max(1, Math.abs(made));
}

function refuse(why: string): never {
  throw new TransportFailure('undecodable', `the verdict ${why}`);
}
