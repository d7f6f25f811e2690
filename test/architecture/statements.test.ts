/**
 * The statements in docs/SPEC.md and the rows in docs/ATTACKS.md are well-formed and cited correctly. A run of all
 * tests reports the statements and rows that no test shows.
 */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allStatements, type MarkedTest, statementsOf, strayMarks, unshownStatements } from '../../tools/statements.ts';
import { sectionsOf, unresolvedCitations } from './contract-citations.ts';

const root = join(import.meta.dirname, '../..');
const statements = allStatements(root);

const EXAMPLE = `# A page

## One thing

Words that are not a statement.

- **One-1** It holds.
- **One-2** It holds
  over two lines. *Not shown by a test: nobody can.*

### Another, with spaces

- **Other-1a** It holds too.
`;

describe('the statements', () => {
  test('have unique ids and a section', () => {
    const ids = statements.map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(500);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    expect(statements.filter(({ section }) => section === '')).toEqual([]);
  });

  test('are read from the text, and each says whether a test can show it', () => {
    expect(statementsOf(EXAMPLE)).toEqual([
      { id: 'One-1', section: 'One thing', text: 'It holds.', isTestable: true },
      { id: 'One-2', section: 'One thing', text: 'It holds over two lines.', isTestable: false },
      { id: 'Other-1a', section: 'Another, with spaces', text: 'It holds too.', isTestable: true },
    ]);
  });

  test('are marked as testable, except for fewer than ten', () => {
    expect(statements.filter(({ isTestable }) => !isTestable).length).toBeLessThan(10);
  });
});

describe('a run of all tests', () => {
  const [one, other] = ['One-1', 'Other-1a'];
  const marked = (tag: string, hasPassed = true): MarkedTest => ({ name: `shows ${tag}`, tags: [tag], hasPassed });
  const unshown = (...tests: MarkedTest[]) => unshownStatements(statementsOf(EXAMPLE), tests).map(({ id }) => id);

  test('reports a statement that has no test, or whose tests were skipped or failed', () => {
    expect(unshown()).toEqual([one, other]);
    expect(unshown(marked(one))).toEqual([other]);
    expect(unshown(marked(one), marked(other, false))).toEqual([other]);
    expect(unshown(marked(one), marked(other, false), marked(other))).toEqual([]);
  });

  test('reports a tag that is not the id of a testable statement', () => {
    const stray = strayMarks(statementsOf(EXAMPLE), [marked(one), marked('One-2'), marked('Nowhere-1', false)]);
    expect([...stray]).toEqual([
      ['One-2', 'shows One-2'],
      ['Nowhere-1', 'shows Nowhere-1'],
    ]);
  });
});

describe('a text that cites the contract', () => {
  test.each([
    ['Spec § One thing.', []],
    ['Spec § One thing 1, § Another, with spaces 1: why', []],
    ['Spec § One thing 1–2 and RFC 9110 § 7', []],
    ['/** Spec § One\n * thing 2. */', []],
    ['Spec § One thing 3.', ['One thing 3']],
    ['Spec § One thing 1–3.', ['One thing 1–3']],
    ['Spec § One things.', ['One things']],
    ['Spec § One thing, § Nothing.', ['Nothing']],
  ])('%j has the unresolved citations %j', (text, unresolved) => {
    expect(unresolvedCitations(text, sectionsOf(EXAMPLE))).toEqual(
      unresolved.map((found) => expect.stringContaining(found)),
    );
  });
});
