/** Problem packages, as directories and archives, are read, and unsupported parts are refused in one line. */
import { execFileSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { plain, read, scratch, write } from './package.fixture.ts';
import { readProblem } from './read-problem.ts';

describe('a package', () => {
  test("lists its tests in order, shows the samples' texts, and compares outputs by words", async () => {
    const { name, tests, groups, checker, limits, notes } = await read(plain);
    expect([name, groups, checker, limits]).toEqual(['Sums', [], null, {}]);
    expect(tests.map((one) => [one.name, one.stdin, one.expected, one.isSample, one.compare])).toEqual([
      ['sample/1', '1 2\n', '3\n', true, 'words'],
      ['secret/a/1', '5 5\n', '10\n', false, 'words'],
    ]);
    expect(notes).toEqual([expect.stringContaining('names no time limit')]);
  });

  test.each([
    ['.timelimit', { '.timelimit': '1.5\n' }],
    ['domjudge-problem.ini', { 'domjudge-problem.ini': "timelimit='1.5'\n" }],
    [
      'problem.yaml of the draft',
      { 'problem.yaml': 'problem_format_version: 2023-07-draft\nlimits: {time_limit: 1.5}\n' },
    ],
  ])('takes its time limit from %s', async (_where, files) => {
    expect((await read({ ...plain, ...files })).limits).toEqual({ cpu_seconds: 1.5, wall_seconds: 10 });
  });

  test('keeps its memory limit, and gets a wall limit far above its time limit', async () => {
    const files = { 'problem.yaml': 'limits: {memory: 512}\n', '.timelimit': '20' };
    expect((await read({ ...plain, ...files })).limits).toEqual({ cpu_seconds: 20, wall_seconds: 62, mem_mb: 512 });
  });

  test.each([
    ['float_tolerance 1e-6', { floats: { absolute: 1e-6, relative: 1e-6 } }],
    ['case_sensitive', 'words'],
    ['', 'words'],
    ['float_tolerance 1e-6 space_change_sensitive', null],
  ])('with the validator flags %j compares outputs by %j', async (flags, compare) => {
    const { checker, tests } = await read({ ...plain, 'problem.yaml': `validator_flags: ${flags}\n` });
    expect([checker?.codes, tests[0]?.compare]).toEqual(
      compare === null ? ['kattis', undefined] : [undefined, compare],
    );
    expect(tests[0]?.checkerArgs).toEqual(compare === null ? flags.split(' ') : undefined);
  });

  test("applies its output validator's flags to each test", async () => {
    const { checker, tests } = await read({
      ...plain,
      'data/secret/a/1.ans': 'Yes\n',
      'data/secret/a/testdata.yaml': 'output_validator_flags: case_sensitive\n',
      'data/sample/testdata.yaml': 'output_validator_flags: float_tolerance 1\n',
    });
    expect([checker, tests.map(({ compare }) => compare)]).toEqual([
      null,
      [{ floats: { absolute: 1, relative: 1 } }, 'words'],
    ]);
  });

  test('uses the default output validator if case must be ignored', async () => {
    const { checker, tests } = await read({ ...plain, 'data/secret/a/1.ans': 'Yes\n' });
    expect([checker?.language, tests[0]?.compare]).toEqual(['python', undefined]);
  });

  test('uses its own output validator as the checker, and adds the text of each included header once', async () => {
    const { checker } = await read({
      ...plain,
      'problem.yaml': 'validation: custom\n',
      'output_validators/v/v.cpp': '#include "a.h"\n#include "a.h"\n#include <map>\nint main() { return 42 + N; }\n',
      'output_validators/v/a.h': '#include "a.h"\nenum { N = 1 };\n',
    });
    expect([checker?.language, checker?.codes]).toEqual(['cpp', 'kattis']);
    expect(checker?.code.match(/enum|"a\.h"|<map>|int main/g)).toEqual(['enum', '<map>', 'int main']);
  });

  test('runs its input validators with the flags of each test, and reports validators that cannot run', async () => {
    const { inputValidators, inputFlags, notes } = await read({
      ...plain,
      'data/testdata.yaml': 'input_validator_flags: --n 10\n',
      'data/secret/a/testdata.yaml': 'input_validator_flags: {name: v, flags: --n 99}\n',
      'input_validators/v.py': 'pass',
      'input_validators/v.ctd': 'EOF',
    });
    expect(inputValidators.map(({ name }) => name)).toEqual(['input_validators/v.py']);
    expect([...inputFlags.values()]).toEqual([
      ['--n', '10'],
      ['--n', '99'],
    ]);
    expect(notes).toContainEqual(expect.stringContaining('input_validators/v.ctd is not used'));
  });

  test('in the draft format takes flags from the nearest settings, and arguments from the test', async () => {
    const { tests } = await read({
      ...plain,
      'problem.yaml': 'problem_format_version: 2023-07-draft\nname: {sv: Summor, en: Sums}\n',
      'output_validator/v.py': '',
      'data/test_group.yaml': 'output_validator_args: [float_tolerance, 1e-3]\n',
      'data/secret/a/test_group.yaml': 'full_feedback: true\n',
      'data/secret/a/1.yaml': 'args: [--fast, "2"]\n',
    });
    expect(tests.map(({ args, checkerArgs }) => [args, checkerArgs])).toEqual([
      [undefined, ['float_tolerance', '0.001']],
      [
        ['--fast', '2'],
        ['float_tolerance', '0.001'],
      ],
    ]);
  });

  test('may share a test between groups through a symbolic link inside the package', async () => {
    const directory = write(plain);
    symlinkSync('a', join(directory, 'data/secret/b'));
    const { tests } = await readProblem(directory, 'lines');
    expect(tests.map(({ name }) => name)).toEqual(['sample/1', 'secret/a/1', 'secret/b/1']);
  });
});

describe('an interactive package', () => {
  const validator = { 'output_validator/v.py': 'import sys; sys.exit(42)' };

  test.each([
    ['legacy', { 'problem.yaml': 'validation: custom interactive\nvalidator_flags: hard\n' }],
    [
      'later',
      {
        'problem.yaml': 'problem_format_version: 2025-09\ntype: interactive\n',
        'data/secret/test_group.yaml': 'output_validator_args: [hard]\n',
        'data/sample/test_group.yaml': 'output_validator_args: [hard]\n',
      },
    ],
  ])('of the %s format runs its validator as the interactor, and shows no sample', async (_which, files) => {
    const { interactor, checker, tests } = await read({ ...plain, ...validator, ...files });
    expect([interactor, checker]).toEqual([
      { language: 'python', code: validator['output_validator/v.py'], codes: 'kattis' },
      null,
    ]);
    expect(tests.map(({ isSample, checkerArgs }) => [isSample, checkerArgs])).toEqual([
      [false, ['hard']],
      [false, ['hard']],
    ]);
  });

  test('without an output validator is refused', async () => {
    const files = { 'problem.yaml': 'problem_format_version: 2025-09\ntype: interactive\n' };
    await expect(read({ ...plain, ...files })).rejects.toThrow(/output_validators has 0 programs/);
  });
});

const nested = `${'['.repeat(30_000)}`;
const bomb = 'a: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a]\nc: &c [*b, *b, *b, *b]\nname: *c\n';

test.each<[string, Record<string, string>, RegExp]>([
  ['a bomb of aliases', { 'problem.yaml': bomb }, /problem\.yaml cannot be read as YAML: .*alias/i],
  ['very deep lists', { 'problem.yaml': nested }, /problem\.yaml cannot be read as YAML/],
  ['a list instead of a mapping', { 'problem.yaml': '- a\n' }, /problem\.yaml is no mapping/],
  ['a key given twice', { 'problem.yaml': 'name: a\nname: b\n' }, /problem\.yaml cannot be read as YAML: .*unique/],
  ['too many settings', { 'problem.yaml': `name: ${'x'.repeat(70_000)}\n` }, /longer than a settings file may be/],
  ['a name that is a list', { 'problem.yaml': 'name: [a]\n' }, /name is not a text/],
  ['a limit that is negative', { 'problem.yaml': 'limits: {memory: -1}\n' }, /memory is not a number/],
  [
    'a time that is no number',
    { '.timelimit': 'soon\n' },
    /\.timelimit: the time limit must be a positive number of seconds/,
  ],
  ['another format', { 'problem.yaml': 'problem_format_version: 2031-01\n' }, /the format 2031-01 is not supported/],
  [
    'an interactive default validator',
    { 'problem.yaml': 'validation: default interactive\n' },
    /validation must be default, or custom/,
  ],
  ['an unknown validation', { 'problem.yaml': 'validation: custom magic\n' }, /but is custom magic/],
  ['a score without points', { 'problem.yaml': 'validation: custom score\n' }, /the type is not scoring/],
  ['several passes', { 'problem.yaml': 'problem_format_version: 2025-09\ntype: multi-pass\n' }, /multi-pass: .*passes/],
  ['files for every program', { 'include/cpp/grader.cpp': '' }, /include\/cpp\/grader\.cpp: files that go with every/],
  ['constants', { 'problem.yaml': 'constants: {n: 5}\n' }, /constants are not put into programs/],
  [
    'points in problem.yaml',
    { 'problem.yaml': 'type: scoring\ngrading: {accept_score: 5}\n' },
    /accept_score is read only in data/,
  ],
  ['a test without an answer', { 'data/secret/a/2.in': '' }, /has no data\/secret\/a\/2\.ans/],
  ['a test with files', { 'data/secret/a/1.files/x.txt': '' }, /1\.files\/x\.txt: tests with files/],
  ['an unknown flag', { 'problem.yaml': 'validator_flags: rm -rf\n' }, /knows no rm/],
  [
    'a build script',
    { 'problem.yaml': 'validation: custom\n', 'output_validators/v/build': '', 'output_validators/v/v.c': '' },
    /output_validators\/v\/build: programs with scripts/,
  ],
  [
    'a validator in another language',
    { 'problem.yaml': 'validation: custom\n', 'output_validators/v.hs': '' },
    /output_validators\/v\.hs is in a language/,
  ],
  ['a missing custom validator', { 'problem.yaml': 'validation: custom\n' }, /output_validators has 0 programs/],
])('%s is refused in one line', async (_what, files, says) => {
  const refusal = await read({ ...plain, ...files }).catch((error: Error) => error);
  expect(refusal).toMatchObject({ name: 'UsageError', message: expect.stringMatching(says) });
  expect((refusal as Error).message).not.toContain('\n');
});

test.each<[string, (directory: string) => void, RegExp]>([
  ['a link out of it', (at) => symlinkSync('/etc/passwd', join(at, 'data/secret/a/2.in')), /2\.in is a link out of/],
  ['a link to a directory', (at) => symlinkSync('/etc', join(at, 'data/secret/etc')), /secret\/etc is a link out of/],
  ['a link to nothing', (at) => symlinkSync('nothing', join(at, 'data/secret/a/2.in')), /2\.in cannot be read: ENOENT/],
  ['a circle of links', (at) => symlinkSync('..', join(at, 'data/secret/a/up')), /too deep for a package/],
  [
    'a pipe',
    (at) => execFileSync('mkfifo', [join(at, 'data/secret/a/2.in')]),
    /2\.in cannot be read: it is not a plain/,
  ],
  [
    'a file that is too large',
    (at) => execFileSync('truncate', ['-s', '65M', join(at, 'data/secret/a/1.in')]),
    /1\.in has 68157440 bytes; at most 67108864 are read/,
  ],
  ['bytes that are no text', (at) => writeFileSync(join(at, 'data/secret/a/1.in'), Buffer.from([0xff])), /UTF-8/],
])('a package with %s is refused', async (_what, spoil, says) => {
  const directory = write(plain);
  spoil(directory);
  await expect(readProblem(directory, 'lines')).rejects.toThrow(says);
});

/** A Python program that writes the archives, even those that no ordinary tool would write. */
const ARCHIVES = `
import os, stat, sys, zipfile
source, target, kind = sys.argv[1:]
with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
    top = "" if kind == "flat" else "sums/"
    for directory, _, names in os.walk(source):
        for name in names:
            path = os.path.join(directory, name)
            archive.write(path, top + os.path.relpath(path, source))
    if kind == "link":
        link = zipfile.ZipInfo("sums/data/secret/a/2.in")
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "../../../../etc/passwd")
    if kind == "twice":
        archive.writestr("sums/problem.yaml", "name: another")
    if kind == "up":
        archive.writestr("sums/../../data/secret/x.in", "")
    if kind == "absolute":
        archive.writestr("/data/secret/x.in", "")
    if kind == "bomb":
        archive.writestr("sums/data/secret/a/2.in", b"0" * (65 << 20))
    if kind == "lie":
        archive.writestr("sums/data/secret/a/2.in", b"0" * 100000)
if kind == "lie":
    data = bytearray(open(target, "rb").read())
    at = data.rindex(b"PK\\x01\\x02")
    data[at + 24:at + 28] = (10).to_bytes(4, "little")
    open(target, "wb").write(data)
`;

function archive(kind: string): string {
  const target = join(scratch, `${kind}.kpp`);
  execFileSync('python3', ['-W', 'ignore', '-c', ARCHIVES, write(plain), target, kind]);
  return target;
}

test.each(['flat', 'nested'])("a %s archive of a package is read like the package's directory", async (kind) => {
  const unpacked = await read(plain);
  expect(await readProblem(archive(kind), 'lines')).toEqual(unpacked);
});

test.each([
  ['link', /2\.in is a link or a device/],
  ['twice', /has problem\.yaml twice/],
  ['up', /cannot be read as a zip archive: .*invalid relative path/],
  ['absolute', /cannot be read as a zip archive: absolute path/],
  ['bomb', /2\.in has 68157440 bytes; at most 67108864/],
  ['lie', /cannot be read as a zip archive: .*(too many|size)/],
])('an archive of a package is refused for this fault: %s', async (kind, says) => {
  await expect(readProblem(archive(kind), 'lines')).rejects.toThrow(says);
});

test('a package that is a file but no zip archive is refused', async () => {
  writeFileSync(join(scratch, 'text.zip'), 'PK but no more');
  await expect(readProblem(join(scratch, 'text.zip'), 'lines')).rejects.toThrow(/text\.zip cannot be read as a zip/);
  await expect(readProblem(join(scratch, 'none.kpp'), 'lines')).rejects.toThrow(/none\.kpp cannot be read/);
});

test('outputs for the tests of a plain folder are compared as the options say', async () => {
  const directory = write({ 'one.in': '1', 'one.out': '2', 'one.args': '--x\n' });
  const { tests, name, checker } = await readProblem(directory, 'exact');
  expect([name, checker]).toEqual([null, null]);
  expect(tests).toMatchObject([{ name: 'one', stdin: '1', expected: '2', args: ['--x'], compare: 'exact' }]);
});
