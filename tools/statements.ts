/**
 * Reads the statements in docs/SPEC.md and the rows in docs/ATTACKS.md, for the tests' configuration, the tests' summary and
 * test/architecture. Each is a list item that begins with its id in bold. A test that shows a statement has the id as a tag.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const DOCUMENTS = ['docs/SPEC.md', 'docs/ATTACKS.md'];

export interface Statement {
  /** The section's name and a number: `Receipt-4`, `Events-7a`, `AUTH-01`. */
  readonly id: string;
  /** The heading above the statement. */
  readonly section: string;
  /** The statement in one line, without the reason why no test shows it. */
  readonly text: string;
  /** False if the document says that no test shows the statement, and gives a reason. */
  readonly isTestable: boolean;
}

/** Every statement and every attack of the project, in the order of the documents. */
export function allStatements(root: string): Statement[] {
  return DOCUMENTS.flatMap((document) => statementsOf(readFileSync(join(root, document), 'utf8')));
}

/** The statements of one document. */
export function statementsOf(markdown: string): Statement[] {
  const statements: Statement[] = [];
  let section = '';
  for (const block of markdown.split(/\n(?=#|- |\n)/)) {
    const heading = /^\n?#+ (.*)/.exec(block)?.[1];
    if (heading !== undefined) section = heading;
    const [, id, text = ''] = /^\n?- \*\*([\w-]+)\*\* ([\s\S]*)/.exec(block) ?? [];
    if (id === undefined) continue;
    const [said = '', reason] = text.trim().replace(/\s+/g, ' ').split(' *Not shown by a test: ');
    statements.push({ id, section, text: said, isTestable: reason === undefined });
  }
  return statements;
}

/** One test in a run: its name, its tags, and whether it passed. */
export interface MarkedTest {
  readonly name: string;
  readonly tags: readonly string[];
  readonly hasPassed: boolean;
}

/** The testable statements that a whole run did not show: no test with the statement's id passed. */
export function unshownStatements(statements: readonly Statement[], tests: readonly MarkedTest[]): Statement[] {
  const shown = new Set(tests.filter(({ hasPassed }) => hasPassed).flatMap(({ tags }) => tags));
  return statements.filter(({ id, isTestable }) => isTestable && !shown.has(id));
}

/** The tags that are not ids of testable statements, each with a test that has the tag. */
export function strayMarks(statements: readonly Statement[], tests: readonly MarkedTest[]): Map<string, string> {
  const known = new Set(statements.filter(({ isTestable }) => isTestable).map(({ id }) => id));
  const stray = tests.flatMap(({ name, tags }) =>
    tags.filter((tag) => !known.has(tag)).map((tag) => [tag, name] as const),
  );
  return new Map(stray);
}
