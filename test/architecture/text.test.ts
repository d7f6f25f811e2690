/** The lint for rules that no formatter checks: `tools/lint-text.ts`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { longSubjects, subjectsIn, wideLines } from '../../tools/lint-text.ts';

const wide = 'a '.repeat(70);

describe('a line that is too wide', () => {
  test.each([
    ['a comment', 'a.ts', `const one = 1;\n// ${wide}`, 2],
    ['a line of a docstring', 'a.ts', `/**\n * ${wide}\n */`, 2],
    ['C', 'a.c', `run("${wide}");`, 1],
    ['Python', 'a.py', `\n\n# ${wide}`, 3],
    ['prose', 'a.md', `# One\n\n${wide} ${wide}`, 3],
  ])('is reported in %s', (_kind, file, text, line) => {
    expect(wideLines(file, text)).toEqual([expect.stringContaining(`${file}:${line} `)]);
  });

  test.each([
    ['code, which the formatter checks', 'a.ts', `const text = '${wide}';`],
    ['a table', 'a.md', `| ${wide} | ${wide} |`],
    ['an example', 'a.md', `\`\`\`sh\n${wide} ${wide}\n\`\`\``],
    ['130 characters of several bytes each', 'a.py', `# ${'–'.repeat(128)}`],
  ])('is allowed in %s', (_kind, file, text) => {
    expect(wideLines(file, text)).toEqual([]);
  });
});

describe('the subjects of commits', () => {
  test('have at most 72 characters', () => {
    expect(longSubjects(['a'.repeat(72), 'b'.repeat(73), '–'.repeat(72)])).toEqual([expect.stringContaining('bbb')]);
  });

  test('are not checked in a directory without a git history', () => {
    const directory = mkdtempSync(join(tmpdir(), 'svc-text-'));
    try {
      expect(subjectsIn(directory)).toEqual([]);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
