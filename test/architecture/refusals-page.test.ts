/** docs/REFUSALS.md has every refusal code, and every exit code of a command. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TERMINAL_REASONS } from '@vouchbox/protocol';
import { expect, test } from 'vitest';
import { refusalsPage } from '../../tools/refusals-page.ts';

const docs = join(import.meta.dirname, '../../docs');
const page = readFileSync(join(docs, 'REFUSALS.md'), 'utf8');

test('docs/REFUSALS.md has the texts from the code; `npm run openapi` writes the page', () => {
  expect(page).toBe(refusalsPage());
});

test('docs/REFUSALS.md lists each reason why a job ended exactly once', () => {
  const reasons = [...page.matchAll(/^\| `(\w+)` \| (?:`\w+`(?:, )?)+ \|/gm)].map(([, reason]) => reason);
  expect(reasons).toEqual([...TERMINAL_REASONS]);
});

test.each([
  ['COMMAND.md', 'vouchbox'],
  ['VERIFYING.md', 'service-verify'],
])('docs/%s has every exit code of %s in docs/REFUSALS.md', (file, command) => {
  const [, of = ''] = page.split(`## Exit codes of \`${command}\`\n`);
  const text = readFileSync(join(docs, file), 'utf8');
  const codes = [...(of.split('\n## ')[0] ?? '').matchAll(/^\| (\d+) \|/gm)].map(([, code]) => code);
  expect(codes.length).toBeGreaterThan(6);
  expect(codes.filter((code) => !text.includes(`\n| ${code} |`))).toEqual([]);
});
