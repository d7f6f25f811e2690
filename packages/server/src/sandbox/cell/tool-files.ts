/**
 * The files for a program that may call tools in its cell: a module for Python and one for JavaScript, and the command `tool`.
 * Cells of other jobs have no such files. The files only write and read lines; a program can do the same without them.
 */
import { readFileSync } from 'node:fs';
import type { LanguageRun } from '../program/language-runs.ts';
import type { RootFiles } from './rootfs.ts';

const PYTHON = 'svc/tools.py';
/** The directory in which Node looks for a module that a program in `/work` imports. */
const NODE = 'node_modules/tools';
const COMMANDS = 'opt/svc/bin';

/** The tool files: their paths in a root, and the names of their sources. */
const SOURCES: Readonly<Record<string, string>> = {
  [PYTHON]: 'tools.py',
  [`${NODE}/index.cjs`]: 'index.cjs',
  [`${NODE}/main.cjs`]: 'main.cjs',
  [`${COMMANDS}/tool`]: 'tool.pl',
};
const NODE_PACKAGE = { name: 'tools', main: 'index.cjs' };

export function toolFiles(): RootFiles {
  const read = ([place, source]: readonly [string, string]) => {
    const content: Uint8Array = readFileSync(new URL(`tools/${source}`, import.meta.url));
    return [place, content] as const;
  };
  return {
    ...Object.fromEntries(Object.entries(SOURCES).map(read)),
    [`${NODE}/package.json`]: Buffer.from(`${JSON.stringify(NODE_PACKAGE)}\n`),
  };
}

/** The words that tell a language's waiting interpreter where its module is. */
export function toolWords({ guest }: Pick<LanguageRun, 'guest'>, root = ''): readonly string[] {
  const module = { 'launch.py': PYTHON, 'launch.cjs': NODE, 'launch.sh': null }[guest];
  return module === null ? [] : [`tools=${root}/${module}`];
}

/** The directory of the command `tool` below this root, for the search path of a program outside of a cell. */
export function toolCommands(root: string): string {
  return `${root}/${COMMANDS}`;
}
