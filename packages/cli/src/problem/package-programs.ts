/** A package's validators. A job takes one text, so each local header replaces its `#include` in the validator's text. */
import { basename, extname } from 'node:path';
import type { Language } from '@vouchbox/protocol/vocabulary';
import { UsageError } from '../failures/usage-error.ts';
import type { PackageProgram } from './problem.ts';
import type { ProblemTree } from './tree.ts';

const LANGUAGE_OF: Readonly<Record<string, Language>> = {
  '.py': 'python',
  '.c': 'c',
  '.cc': 'cpp',
  '.cpp': 'cpp',
  '.cxx': 'cpp',
};
/** Languages of input validators that have no runtime here. */
const GRAMMARS = ['.ctd', '.viva'];
const INCLUDE = /^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"[^\n]*$/gm;
const codeMax = 1024 * 1024;

export interface PackagePrograms {
  readonly programs: readonly PackageProgram[];
  readonly notes: readonly string[];
}

/**
 * The programs in a directory of the package, each a file or a directory.
 * @throws UsageError if a program cannot run: it is in another language, has several sources, or is built by a script
 */
export async function readPrograms(tree: ProblemTree, directory: string): Promise<PackagePrograms> {
  const inside = tree.paths.filter((path) => path.startsWith(`${directory}/`));
  const names = [...new Set(inside.map((path) => path.slice(directory.length + 1).split('/')[0] ?? ''))];
  const programs: PackageProgram[] = [];
  const notes: string[] = [];
  for (const name of names.map((each) => `${directory}/${each}`)) {
    if (/readme|\.(md|txt)$/i.test(name)) continue;
    if (GRAMMARS.includes(extname(name))) notes.push(`${name} is not used: there is no runtime for it here`);
    else
      programs.push(
        await readProgram(
          tree,
          name,
          inside.filter((path) => path === name || path.startsWith(`${name}/`)),
        ),
      );
  }
  return { programs, notes };
}

async function readProgram(tree: ProblemTree, name: string, files: readonly string[]): Promise<PackageProgram> {
  const script = files.find((path) => /\/(build|run)$/.test(path));
  if (script !== undefined) throw new UsageError(`${script}: programs with scripts of their own are not built`);
  const sources = files.filter((path) => LANGUAGE_OF[extname(path)] !== undefined);
  const [source] = sources;
  const language = LANGUAGE_OF[extname(source ?? '')];
  if (source === undefined || language === undefined) {
    throw new UsageError(`${name} is in a language that validators cannot have here: give Python, C or C++`);
  }
  if (sources.length > 1) throw new UsageError(`${name} has several source files; a validator must be one file`);
  const code = await withHeaders(tree, source, new Set());
  if (code.length > codeMax) throw new UsageError(`${name} is longer than a program may be`);
  return { name, language, code };
}

/** The text, with each local header in the place of its first `#include`. Missing headers are left for the compiler to report. */
async function withHeaders(tree: ProblemTree, path: string, seen: Set<string>): Promise<string> {
  seen.add(path);
  const text = await tree.text(path);
  if (path.endsWith('.py')) return text;
  const parts: string[] = [];
  let from = 0;
  for (const match of text.matchAll(INCLUDE)) {
    const [line, header = ''] = match;
    const beside = path.slice(0, path.length - basename(path).length) + header;
    const isOwn = tree.paths.includes(beside);
    parts.push(
      text.slice(from, match.index),
      isOwn && !seen.has(beside) ? await withHeaders(tree, beside, seen) : isOwn ? '' : line,
    );
    from = match.index + line.length;
  }
  return [...parts, text.slice(from)].join('');
}
