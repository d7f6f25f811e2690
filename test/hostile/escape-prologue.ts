/**
 * Ways to run before the code that starts a program, or instead of that code: through files that an interpreter reads, or
 * through names that an interpreter uses.
 */
import assert from 'node:assert/strict';
import type { Attack, HostileCase } from './hostile-case.ts';
import { assertExited } from './seen.ts';

/** A module that prints when it is loaded. */
function planted(path: string, code: string): NonNullable<Attack['files']>[number] {
  return { path: `input/${path}`, content: Buffer.from(code) };
}

const PYTHON = "print('HIJACKED', flush=True)\n";
const NODE = "console.log('HIJACKED');\n";

/** Programs that each try a trick. A program prints only `clean` if its trick has no effect. */
const TRICKS: readonly (Attack & { readonly trick: string })[] = [
  {
    trick: 'a hoisted function with the name of a function that a prologue calls',
    program: 'prologue-hoisted.cjs',
  },
  {
    trick: 'sitecustomize and usercustomize',
    program: 'prologue-modules.py',
    files: [planted('sitecustomize.py', PYTHON), planted('usercustomize.py', PYTHON)],
  },
  {
    trick: 'modules of the standard library shadowed in input/',
    program: 'prologue-modules.py',
    files: ['json', 'os', 'random', 'string'].map((name) => planted(`${name}.py`, PYTHON)),
  },
  {
    trick: 'modules shadowed beside the program, for a second interpreter started like the first',
    program: 'prologue-second.py',
  },
  {
    trick: 'NODE_OPTIONS, .npmrc and node_modules in input/',
    program: 'prologue-modules.cjs',
    files: [
      planted('node_modules/fs/index.js', NODE),
      planted('.npmrc', 'node-options=--require /work/input/x.cjs\n'),
      planted('x.cjs', NODE),
    ],
  },
  {
    trick: 'a package.json that says what main.js is',
    program: 'prologue-modules.cjs',
    files: [planted('package.json', '{"type":"module","main":"x.cjs"}'), planted('x.cjs', NODE)],
  },
  {
    trick: 'BASH_ENV, .bashrc, and functions with the names of builtins',
    program: 'prologue-shell.sh',
    files: [planted('.bashrc', 'echo HIJACKED\n'), planted('.profile', 'echo HIJACKED\n')],
  },
  {
    trick: 'a source that looks like options',
    program: 'prologue-options.sh',
  },
];

export const prologueCases: readonly HostileCase[] = [
  ...TRICKS.map(
    ({ trick, ...attack }): HostileCase => ({
      id: 'ESC-23',
      title: `nothing runs before or instead of a program: ${trick}`,
      holds:
        'the program is only a file argument; interpreters start isolated and with a fixed environment, before any job',
      attack,
      expect(seen) {
        assertExited(seen);
        assert.equal(seen.stdout, 'clean\n', seen.stderr);
      },
    }),
  ),
];
