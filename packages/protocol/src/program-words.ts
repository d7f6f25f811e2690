/** What a program gets at its start in addition to its input: arguments and variables. */
import { argsMax, envMax, variableNameCharsMax } from './limits.ts';
import { Type } from './type.ts';
import { REFUSED_VARIABLES } from './variables.ts';

/** Words after the program's name: `sys.argv[1:]`, `process.argv.slice(2)`, `"$@"`. */
export const ProgramArguments = Type.Array(Type.String(), {
  maxItems: argsMax,
  description: 'Arguments of the program; at most 4 KiB each and 32 KiB together as UTF-8, without NUL.',
});

/** Variables that the program gets in addition to the fixed ones. `variableProblem` says which names are refused. */
export const ProgramVariables = Type.Record(
  Type.String({ pattern: `^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]{0,${variableNameCharsMax - 1}}$` }),
  Type.String(),
  {
    maxProperties: envMax,
    additionalProperties: false,
    description:
      'Environment variables; at most 4 KiB each and 32 KiB together as UTF-8, without NUL. The fixed ones cannot be set, ' +
      `nor those that a loader or an interpreter reads at its start: ${REFUSED_VARIABLES.join(', ')}.`,
  },
);
