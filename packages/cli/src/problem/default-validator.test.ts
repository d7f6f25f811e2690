/** The default output validator, run on this host with a checker's files, and the comparisons that can replace it. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COMPARER } from '@vouchbox/protocol/grading-steps';
import { afterAll, describe, expect, test } from 'vitest';
import { comparisonOf, DEFAULT_VALIDATOR } from './default-validator.ts';

const scratch = mkdtempSync(join(tmpdir(), 'svc-validator-'));
afterAll(() => rmSync(scratch, { recursive: true }));
mkdirSync(join(scratch, 'input'));

/** Runs a program for all cases. One process forks for each case, and gives the fork a checker's files. */
const EACH = `import io, json, os, sys
code, cases = json.load(sys.stdin)
for words, expected, output in cases:
    pid = os.fork()
    if pid == 0:
        open("input/expected", "w").write(expected)
        open("input/output", "w").write(output)
        sys.argv = ["program", *words]
        sys.stdin, sys.stderr = io.TextIOWrapper(io.BytesIO(output.encode())), open(os.devnull, "w")
        try:
            exec(code)
        except SystemExit as end:
            os._exit(end.code)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

type Judged = readonly [words: readonly string[], expected: string, output: string];

/** The program's exit code in each case. */
function endsOf(code: string, cases: readonly Judged[]): readonly number[] {
  const input = JSON.stringify([code, cases]);
  const { stdout, stderr } = spawnSync('python3', ['-u', '-c', EACH], { cwd: scratch, input, encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.trim().split('\n').map(Number);
}

const flagsOf = (text: string) => text.split(' ').filter((flag) => flag !== '');

const CASES: readonly [flags: string, expected: string, output: string, ends: 42 | 43][] = [
  ['', 'Yes 1', 'yES   1\n', 42],
  ['', 'Yes', 'no', 43],
  ['', '1 2', '1', 43],
  ['', '1', '1 2', 43],
  ['', '1.0', '1', 43],
  ['case_sensitive', 'Yes', 'yes', 43],
  ['space_change_sensitive', 'a b', 'a  b', 43],
  ['space_change_sensitive', 'a b\n', 'A b\n', 42],
  ['float_tolerance 1e-3', '1000', '1000.9', 42],
  ['float_tolerance 1e-3', '1000', '1001.1', 43],
  ['float_absolute_tolerance 0.5', '1000', '1000.6', 43],
  ['float_relative_tolerance 0.5', '0', '0.1', 43],
  ['float_tolerance 1e-3', '0.0314', '3.14e-2', 42],
  ['float_tolerance 1e-3', '1', 'nan', 43],
  ['float_tolerance 1e-3', '1', '1_0', 43],
  ['float_tolerance 1e-3', 'none', 'NONE', 42],
  ['float_tolerance 1e-3', '1e3 -', '1000.5 -', 42],
  ['float_tolerance 1e-3', '1e3 -', '1000.5 +', 43],
];

describe('the default output validator', () => {
  const seen = (ends: readonly number[]) => CASES.map(([...given], at) => [...given.slice(0, 3), ends[at]]);

  test('compares texts as its flags demand', () => {
    const files = ['input/stdin', 'input/expected', '/tmp/'];
    const cases = CASES.map(([flags, ...texts]): Judged => [[...files, ...flagsOf(flags)], texts[0], texts[1]]);
    expect(seen(endsOf(DEFAULT_VALIDATOR.code, cases))).toEqual(CASES);
  });

  test('gives the same answer as the built-in comparison for its flags', () => {
    const compared = CASES.map(([flags, expected]) => comparisonOf(flagsOf(flags), expected));
    const cases = CASES.map(([, ...texts], at): Judged => [[JSON.stringify(compared[at])], texts[0], texts[1]]);
    const judged = cases.filter((_, at) => compared[at] !== null);
    expect(judged.length).toBeGreaterThan(8);
    expect(endsOf(COMPARER, judged)).toEqual(
      CASES.flatMap(([, , , ends], at) => (compared[at] === null ? [] : [ends])),
    );
  });

  test('is replaced by a built-in comparison only if the comparison gives the same answer', () => {
    expect(comparisonOf([], '1 2\nYes')).toBeNull();
    expect(comparisonOf([], '1 2')).toBe('words');
    expect(comparisonOf(['case_sensitive'], 'a')).toBe('words');
    expect(comparisonOf(['case_sensitive', 'space_change_sensitive'], 'a')).toBe('exact');
    expect(comparisonOf(['float_tolerance', '1e-6'], '1e5')).toEqual({ floats: { absolute: 1e-6, relative: 1e-6 } });
    expect(comparisonOf(['float_relative_tolerance', '0.5'], '1')).toEqual({ floats: { relative: 0.5 } });
    expect(comparisonOf(['float_tolerance', '1'], '1 none')).toBeNull();
    expect(comparisonOf(['float_tolerance', '1', 'case_sensitive'], '1 none')).toEqual({
      floats: { absolute: 1, relative: 1 },
    });
    expect(comparisonOf(['float_tolerance', '1', 'space_change_sensitive'], '1')).toBeNull();
  });

  test.each([['float_tolerance'], ['float_tolerance x'], ['float_tolerance -1'], ['other']])(
    'refuses the flags %j',
    (flags) => {
      expect(() => comparisonOf(flags.split(' '), '')).toThrow('the default output validator knows no');
    },
  );
});
