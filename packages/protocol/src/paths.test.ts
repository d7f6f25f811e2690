import { describe, expect, test } from 'vitest';
import { pathBytesMax, pathComponentBytesMax } from './limits.ts';
import { type PathKind, pathProblem, pathsProblem } from './paths.ts';

/** A path of exactly this many bytes. Each component has at most 200. */
function longPath(bytes: number): string {
  return `output/${'x'.repeat(200)}/`.padEnd(bytes, `${'y'.repeat(199)}/`).replace(/\/$/, 'z');
}

const RIGHT: readonly (readonly [string, PathKind])[] = [
  ['output/a', 'output'],
  ['input/a', 'input'],
  ['output/a/b/c.txt', 'output'],
  ['output/.hidden', 'output'],
  ['output/..a', 'output'],
  ['output/a..', 'output'],
  ['output/...', 'output'],
  ['output/with space', 'output'],
  ['output/é/日本.png', 'output'],
  ['output/output/output', 'output'],
  ['output/-rf', 'output'],
  ['output/$(id)', 'output'],
  [`output/${'c'.repeat(pathComponentBytesMax)}`, 'output'],
  [`output/${'c'.repeat(pathComponentBytesMax - 1)}`, 'output'],
  [longPath(pathBytesMax - 1), 'output'],
  [longPath(pathBytesMax), 'output'],
];

const WRONG: readonly (readonly [string, PathKind, RegExp])[] = [
  ['', 'output', /not under/],
  ['/', 'output', /absolute/],
  ['/etc/x', 'output', /absolute/],
  ['/output/x', 'output', /absolute/],
  ['//output/x', 'output', /absolute/],
  ['output', 'output', /not under/],
  ['output/', 'output', /empty component/],
  ['output//x', 'output', /empty component/],
  ['output/x/', 'output', /empty component/],
  ['output/../x', 'output', /component \. or \.\./],
  ['output/x/..', 'output', /component \. or \.\./],
  ['output/../../etc/passwd', 'output', /component \. or \.\./],
  ['../output/x', 'output', /not under/],
  ['./output/x', 'output', /not under/],
  ['output/./x', 'output', /component \. or \.\./],
  ['output/.', 'output', /component \. or \.\./],
  ['OUTPUT/x', 'output', /not under/],
  ['Output/x', 'output', /not under/],
  ['outputs/x', 'output', /not under/],
  ['input/x', 'output', /not under/],
  ['output/x', 'input', /not under/],
  ['x', 'output', /not under/],
  [' output/x', 'output', /not under/],
  ['output\\x', 'output', /backslash/],
  ['output/a\\..\\b', 'output', /backslash/],
  ['C:\\output\\x', 'output', /backslash/],
  ['output/a\0b', 'output', /control/],
  ['output/a\nb', 'output', /control/],
  ['output/\u001b[31m', 'output', /control/],
  ['output/a\u007f', 'output', /control/],
  ['output/a\u0085', 'output', /control/],
  ['output/\ud800', 'output', /surrogate/],
  ['output/a\udc00b', 'output', /surrogate/],
  ['ｏutput/x', 'output', /not under/],
  ['file:///output/x', 'output', /not under/],
  ['~/output/x', 'output', /not under/],
  [longPath(pathBytesMax + 1), 'output', /1024 bytes/],
  [`output/${'é'.repeat(512)}`, 'output', /1024 bytes/],
  [`output/${'c'.repeat(pathComponentBytesMax + 1)}`, 'output', /255 bytes/],
  [`output/${'é'.repeat(128)}`, 'output', /255 bytes/],
];

const COLLIDING: readonly (readonly [string, readonly string[], number, RegExp])[] = [
  ['duplicates', ['output/a', 'output/b', 'output/a'], 2, /same file/],
  ['a file and a path inside it', ['output/a', 'output/a/b'], 1, /inside an earlier/],
  ['a path and the directory it is in', ['output/a/b', 'output/a'], 1, /directory of an earlier/],
  ['a wrong path after right ones', ['output/a', 'output/b', '/c'], 2, /absolute/],
];

describe('the path rules of a submission (Spec § Job submission)', () => {
  test.each(RIGHT)('accept %j as a path for %s', { tags: ['Submission-30'] }, (path, kind) => {
    expect(pathProblem(path, kind)).toBeNull();
  });

  test.each(WRONG)(
    'refuse %j for %s',
    { tags: ['Submission-31', 'Submission-32', 'Submission-33', 'ART-08'] },
    (path, kind, reason) => {
      expect(pathProblem(path, kind)).toMatch(reason);
    },
  );

  test('are tested with paths of exactly the maximum length, and of one byte less and one byte more', () => {
    for (const bytes of [pathBytesMax - 1, pathBytesMax, pathBytesMax + 1]) expect(longPath(bytes)).toHaveLength(bytes);
  });
});

describe('the rules for a list of paths', () => {
  test.each(COLLIDING)(
    'refuse %s, and name the later path',
    { tags: ['Submission-34', 'Submission-35'] },
    (_name, paths, index, reason) => {
      expect(pathsProblem(paths, 'output')).toEqual({ index, problem: expect.stringMatching(reason) as string });
    },
  );

  test.each([
    ['case', 'output/README', 'output/readme'],
    ["case, in a directory's name", 'output/A/x', 'output/a'],
    ['normalization', 'output/\u00e9', 'output/e\u0301'],
    ['a case that changes the length', 'output/stra\u00dfe', 'output/STRASSE'],
    ['a dotless i', 'output/\u0131', 'output/i'],
    ['a ligature', 'output/\ufb01', 'output/fi'],
  ])('accept two paths that differ only by %s as two files', (_name, one, other) => {
    expect(pathsProblem([one, other], 'output')).toBeNull();
  });

  test('accept different names that begin alike', () => {
    expect(pathsProblem(['output/a', 'output/ab', 'output/a.txt', 'output/b/a', 'output/b/ab'], 'output')).toBeNull();
    expect(pathsProblem([], 'input')).toBeNull();
  });
});
