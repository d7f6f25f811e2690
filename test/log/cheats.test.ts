/** Each cheat by an operator is caught by the tool that docs/LOG.md names, or docs/LOG.md says that no tool catches it. */
import { describe, expect, test } from 'vitest';
import { CHEATS, documentText } from './cheats.ts';
import { Operator } from './operator.ts';

const caught = CHEATS.filter(({ tool }) => tool !== null);

describe('an operator who', () => {
  test.each(caught)('$what is caught by $tool', async ({ told, tried }) => {
    using operator = new Operator();
    if (told === undefined || tried === undefined) throw new Error('this row is not tried');
    const said = await tried(operator);
    expect([said.code, said.text]).toEqual([told[0], expect.stringMatching(told[1])]);
  });
});

test.each(CHEATS)('docs/LOG.md says whether an operator who $what is caught', ({ document }) => {
  expect(documentText()).toContain(document);
});

test('docs/LOG.md has at most 1,500 words', () => {
  expect(documentText().trim().split(' ').length).toBeLessThanOrEqual(1500);
});
