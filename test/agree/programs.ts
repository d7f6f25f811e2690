/** The programs for `npm run agree`: CPython's own tests, and the judging suite's programs with known verdicts. */
import type { JobSubmission } from '@vouchbox/protocol';
import { KINDS, knownPrograms, knownTests, LIMITS } from '../judging/known-programs.ts';
import { interpreterPrograms, presentTests } from '../programs/cpython.ts';
import { LARGEST_LIMITS } from '../programs/program.ts';

export interface TriedAgain {
  readonly name: string;
  readonly group: string;
  readonly submission: JobSubmission;
}

/** CPython's tests about the language, and about modules that use no clock, file or network. */
const OF_THE_LANGUAGE =
  `base64 bisect calendar cmath collections configparser copy csv dataclasses decimal difflib enum fractions
  functools heapq html itertools json math operator pickle pprint random re set shlex statistics string struct textwrap
  unicodedata zlib`
    .split(/\s+/)
    .map((name) => `test_${name}`);

export function agreePrograms(): readonly TriedAgain[] {
  return [...runs(), ...outcomes(), ...judged()];
}

/** CPython's tests, started by CPython's own runner. This runner prints how long each test took. */
function runs(): readonly TriedAgain[] {
  return interpreterPrograms().map(({ name, code }) => ({
    name: `cpython/run/${name}`,
    group: 'tests as the runner of CPython tells them',
    submission: { language: 'python', code, limits: LARGEST_LIMITS },
  }));
}

/** CPython's tests without its runner: each prints only the outcomes. */
function outcomes(): readonly TriedAgain[] {
  const present = new Set(presentTests());
  return OF_THE_LANGUAGE.filter((name) => present.has(name)).map((name) => ({
    name: `cpython/outcomes/${name}`,
    group: 'outcomes of tests of CPython',
    submission: { language: 'python', code: outcomesOf(name), limits: LARGEST_LIMITS },
  }));
}

const outcomesOf = (name: string) => `import io, sys, unittest
class Outcomes(unittest.TestResult):
    def stopTest(self, test):
        super().stopTest(test)
        print(test.id(), len(self.failures), len(self.errors), len(self.skipped), file=told)
told, sys.stdout, sys.stderr = sys.stdout, io.StringIO(), io.StringIO()
sys.argv = [sys.argv[0]]
suite = unittest.defaultTestLoader.loadTestsFromName('test.${name}')
outcome = suite.run(Outcomes())
print(outcome.testsRun, file=told)
for test, _ in outcome.failures + outcome.errors: print(test, file=told)
raise SystemExit(0 if outcome.testsRun > 1 and outcome.wasSuccessful() else 1)
`;

/** Programs for each kind of verdict, with inputs that lead to that verdict. */
function judged(): readonly TriedAgain[] {
  const tests = knownTests(10, 1);
  return knownPrograms(5 * KINDS.length, 9).map(({ name, language, code }, at) => {
    const turn = Math.floor(at / KINDS.length);
    const stdin = tests[(13 - turn) % 10]?.stdin ?? '';
    const limits = { ...LIMITS, wall_seconds: 10 };
    return {
      name: `judging/${name.replace(/^\d+: /, '').replace(', ', '/')}/${turn}`,
      group: 'programs of known verdicts',
      submission: { language, code, stdin, limits },
    };
  });
}
