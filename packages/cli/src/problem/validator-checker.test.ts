/** Output validators as checkers, run on this host with the files that a checker finds. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { comparisonOf, DEFAULT_VALIDATOR } from './default-validator.ts';
import { checkerOf } from './validator-checker.ts';

const scratch = mkdtempSync(join(tmpdir(), 'svc-validator-'));
afterAll(() => rmSync(scratch, { recursive: true }));
mkdirSync(join(scratch, 'input'));

interface Judged {
  readonly input?: string;
  readonly expected?: string;
  readonly output: string;
}

function files({ input = '', expected = '', output }: Judged): void {
  writeFileSync(join(scratch, 'input/stdin'), input);
  writeFileSync(join(scratch, 'input/expected'), expected);
  writeFileSync(join(scratch, 'input/output'), output);
}

function run(command: string, ...words: readonly string[]): number | null {
  return spawnSync(command, words, { cwd: scratch }).status;
}

const IN_PYTHON = `import sys
given = open(sys.argv[1]).read() + open(sys.argv[2]).read() + sys.argv[4]
open(sys.argv[3] + "judgemessage.txt", "w").write("é")
said = sys.stdin.read()
if said == "crash": raise ValueError
sys.exit(42 if said == given else 0 if said == "zero" else 43)
`;

/** It reads as the one in Python does, and knows its words by `main` alone. */
const IN_C = `#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char text[4][100];
static void take(const char *path, char *text) { FILE *file = fopen(path, "r"); if (file) fread(text, 1, 99, file); }
int main(int count, char **words) {
    char given[400], message[200];
    if (count != 5) return 9;
    take(words[1], text[0]); take(words[2], text[1]); fread(text[2], 1, 99, stdin);
    snprintf(given, 400, "%s%s%s", text[0], text[1], words[4]);
    snprintf(message, 200, "%sjudgemessage.txt", words[3]);
    if (fopen(message, "w") == NULL) return 9;
    if (!strcmp(text[2], "crash")) abort();
    return !strcmp(text[2], given) ? 42 : !strcmp(text[2], "zero") ? 0 : 43;
}
`;

describe.each([
  ['python', IN_PYTHON],
  ['c', IN_C],
] as const)('a validator in %s', (language, code) => {
  const { code: checker } = checkerOf({ name: 'v', language, code }, ['a "flag" \\ é']);
  const program = join(scratch, `checker-${language}`);
  writeFileSync(`${program}.${language === 'c' ? 'c' : 'py'}`, checker);
  if (language === 'c') expect(run('cc', '-std=gnu17', '-O2', '-o', program, `${program}.c`)).toBe(0);
  const judged = (output: string) => {
    files({ input: 'in ', expected: 'answer ', output });
    return language === 'c' ? run(program) : run('python3', `${program}.py`);
  };

  test('accepts as it does, with its files and flags', () => expect(judged('in answer a "flag" \\ é')).toBe(0));
  test('refuses as it does', () => expect(judged('other')).toBe(1));
  test.each(['zero', 'crash'])('judges nothing when it ends otherwise: %s', (output) => expect(judged(output)).toBe(3));
});

/** Judges all cases in one process, which forks for each: its files are those of the checker. */
const EACH = `import io, json, os, sys
code, cases = json.load(sys.stdin)
for flags, expected, output, _ in cases:
    pid = os.fork()
    if pid == 0:
        open("input/expected", "w").write(expected)
        sys.argv = ["validator", "input/stdin", "input/expected", "/tmp/", *flags.split()]
        sys.stdin, sys.stderr = io.TextIOWrapper(io.BytesIO(output.encode())), open(os.devnull, "w")
        try:
            exec(code)
        except SystemExit as end:
            os._exit(end.code)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

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
];

describe('the default output validator', () => {
  test('compares as its flags say', () => {
    const input = JSON.stringify([DEFAULT_VALIDATOR.code, CASES]);
    const { stdout, stderr } = spawnSync('python3', ['-u', '-c', EACH], { cwd: scratch, input, encoding: 'utf8' });
    expect(stderr).toBe('');
    const ends = stdout.trim().split('\n').map(Number);
    expect(CASES.map(([...given], at) => [...given.slice(0, 3), ends[at]])).toEqual(CASES);
  });

  test('judges as a checker does', () => {
    const { code } = checkerOf(DEFAULT_VALIDATOR, ['float_tolerance', '1e-3']);
    writeFileSync(join(scratch, 'default.py'), code);
    files({ expected: '1', output: '1.0001' });
    expect(run('python3', 'default.py')).toBe(0);
    files({ expected: '1', output: '1.1' });
    expect(run('python3', 'default.py')).toBe(1);
  });

  test('is not needed where words or characters say the same', () => {
    expect(comparisonOf([], ['1 2', 'a'])).toBeNull();
    expect(comparisonOf([], ['1 2'])).toBe('words');
    expect(comparisonOf(['case_sensitive'], ['a'])).toBe('words');
    expect(comparisonOf(['case_sensitive', 'space_change_sensitive'], ['a'])).toBe('exact');
    expect(comparisonOf(['float_tolerance', '1'], ['1'])).toBeNull();
  });

  test.each([['float_tolerance'], ['float_tolerance x'], ['float_tolerance -1'], ['other']])('knows no %j', (flags) => {
    expect(() => comparisonOf(flags.split(' '), [])).toThrow('the default output validator knows no');
  });
});
