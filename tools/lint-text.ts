/**
 * Checks what formatters do not check: the width of comments, prose and sources in other languages, and the length of commit
 * subjects. `npm run lint` prints a line about everything that is too long, and then exits with 1.
 */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The most characters in a comment's line, and in any line of C, Perl, Python and shell. The formatter keeps code narrower. */
const COLUMNS_MAX = 130;
/** The most characters in a line of Markdown, except in tables and examples. */
const PROSE_COLUMNS_MAX = 140;
const SUBJECT_CHARACTERS_MAX = 72;
/** The last commit before the rule about subjects. */
const LAST_LONG_SUBJECT = '9221ab702a6a445abfa3d04472ce70915f25ee12';

const FILES = [
  '{packages,clients,test,tools,bench,packs}/**/*.{ts,tsx,mjs,cjs,c,h,pl,py,sh,md}',
  'docs/**/*.md',
  '*.{md,ts,cjs}',
];
/** Installed modules are left out, and so are the vectors, because others wrote them. */
const LEFT_OUT = /node_modules|^test\/vectors\//;

/** The lines in a file that are too long, each as `FILE:LINE` with its length. */
export function wideLines(file: string, text: string): string[] {
  const max = file.endsWith('.md') ? PROSE_COLUMNS_MAX : COLUMNS_MAX;
  return heldLines(file, text).flatMap((line, index) => {
    const length = line?.length ?? 0;
    return length > max ? [`${file}:${index + 1} has ${length} characters, of at most ${max}`] : [];
  });
}

/** Every line of a file, with null in place of each line that may have any width. */
function heldLines(file: string, text: string): (string | null)[] {
  const lines = text.split('\n');
  if (/\.(c|h|pl|py|sh)$/.test(file)) return lines;
  if (!file.endsWith('.md')) return lines.map((line) => (/^\s*(\/\/|\/?\*)/.test(line) ? line : null));
  let isExample = false;
  return lines.map((line) => {
    if (/^\s*```/.test(line)) isExample = !isExample;
    return isExample || /^\s*(\||<!--)/.test(line) ? null : line;
  });
}

/** The subjects that are too long. */
export function longSubjects(subjects: readonly string[]): string[] {
  return subjects
    .filter((subject) => subject.length > SUBJECT_CHARACTERS_MAX)
    .map((subject) => `a commit's subject has over ${SUBJECT_CHARACTERS_MAX} characters: ${subject}`);
}

/** The subjects of commits since the rule applies; none if the history is missing or too short. */
export function subjectsIn(root: string): string[] {
  const range = `${LAST_LONG_SUBJECT}..HEAD`;
  try {
    const printed = execFileSync('git', ['log', '--format=%s', range], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return printed.toString().split('\n');
  } catch {
    return [];
  }
}

function main(root: string): void {
  const files = globSync(FILES, { cwd: root }).filter((file) => !LEFT_OUT.test(file));
  const wide = files.flatMap((file) => wideLines(file, readFileSync(join(root, file), 'utf8')));
  const faults = [...wide, ...longSubjects(subjectsIn(root))];
  for (const fault of faults) process.stdout.write(`${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
}

if (import.meta.main) main(join(import.meta.dirname, '..'));
