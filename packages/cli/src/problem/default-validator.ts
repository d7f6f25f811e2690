/**
 * The default output validator of problem packages. It compares token by token, ignoring case unless `case_sensitive` is given.
 * If a flag gives a tolerance, numbers may differ by it. If a built-in comparison of the judge does the same, no program runs.
 */
import type { GradeTest } from '@vouchbox/client';
import { UsageError } from '../failures/usage-error.ts';
import type { PackageProgram } from './problem.ts';

const TOLERANCES = ['float_relative_tolerance', 'float_absolute_tolerance', 'float_tolerance'];
const SWITCHES = ['case_sensitive', 'space_change_sensitive'];

/** The form of a text that the judge compares as a number. */
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** The built-in comparison that gives the same answer as the validator for a test; null if the validator itself must run. */
export function comparisonOf(flags: readonly string[], expected: string): GradeTest['compare'] | null {
  const floats = tolerancesOf(flags);
  const isNear = Object.keys(floats).length > 0;
  const words = isNear ? expected.split(/\s+/).filter((word) => !NUMBER.test(word)) : [expected];
  if (!flags.includes('case_sensitive') && words.some((word) => /[A-Za-z]/.test(word))) return null;
  const isSpaced = flags.includes('space_change_sensitive');
  if (isNear) return isSpaced ? null : { floats };
  return isSpaced ? 'exact' : 'words';
}

/** @throws UsageError if the validator has no such flag */
function tolerancesOf(flags: readonly string[]): { absolute?: number; relative?: number } {
  const floats: { absolute?: number; relative?: number } = {};
  for (let at = 0; at < flags.length; at++) {
    const flag = flags[at] ?? '';
    if (SWITCHES.includes(flag)) continue;
    const value = TOLERANCES.includes(flag) ? Number(flags[++at] ?? Number.NaN) : Number.NaN;
    if (!(value >= 0)) throw new UsageError(`the default output validator knows no ${[flag, flags[at]].join(' ')}`);
    if (flag !== 'float_absolute_tolerance') floats.relative = value;
    if (flag !== 'float_relative_tolerance') floats.absolute = value;
  }
  return floats;
}

/** The default validator as a program, with the command line and the exit codes of every output validator. */
export const DEFAULT_VALIDATOR: PackageProgram = {
  name: 'the default output validator',
  language: 'python',
  code: String.raw`import re
import sys

flags = sys.argv[4:]
relative = absolute = None
for at, flag in enumerate(flags):
    if flag in ("float_relative_tolerance", "float_tolerance"):
        relative = float(flags[at + 1])
    if flag in ("float_absolute_tolerance", "float_tolerance"):
        absolute = float(flags[at + 1])
any_case = "case_sensitive" not in flags
NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")


def refuse(text):
    print(text, file=sys.stderr)
    sys.exit(43)


def same(wanted, said):
    if (relative is not None or absolute is not None) and NUMBER.match(wanted):
        if not NUMBER.match(said):
            return False
        want, say = float(wanted), float(said)
        error = abs(want - say)
        return (absolute is not None and error <= absolute) or (relative is not None and error <= relative * abs(want))
    return wanted == said or (any_case and wanted.lower() == said.lower())


with open(sys.argv[2], "rb") as file:
    answer = file.read()
output = sys.stdin.buffer.read()
if "space_change_sensitive" in flags and re.split(rb"[^\s]+", answer) != re.split(rb"[^\s]+", output):
    refuse("white space differs")
wanted, said = answer.split(), output.split()
for at, word in enumerate(wanted):
    if at >= len(said):
        refuse("the output ends before word %d" % (at + 1))
    if not same(word, said[at]):
        refuse("word %d differs" % (at + 1))
if len(said) > len(wanted):
    refuse("the output goes on after word %d" % len(wanted))
sys.exit(42)
`,
};
