/** The result of a command of `service-verify`, before it is shown to a person or a machine. */
import { EXIT, type ExitCode } from './exit-code.ts';

/** One check. `detail` says what was found, or what is wrong. */
export interface Check {
  readonly name: string;
  readonly isGood: boolean;
  readonly detail: string;
}

/** The facts of good evidence, by name. The signer wrote the texts; do not trust them as markup. */
export type Facts = Readonly<Record<string, string | number | boolean | null>>;

export interface Report {
  readonly exitCode: ExitCode;
  /** The checks in the order in which they were made. The first bad check explains the exit code. */
  readonly checks: readonly Check[];
  /** The facts; empty if the evidence was refused, because nothing that it says is then worth repeating. */
  readonly facts: Facts;
  /** The meaning of a good verdict, and its limits; null for a bad one. */
  readonly notice: string | null;
}

/** The report on evidence that has no facts worth repeating. */
export function refusal(exitCode: ExitCode, checks: readonly Check[]): Report {
  return { exitCode, checks, facts: {}, notice: null };
}

export function passed(name: string, detail: string): Check {
  return { name, isGood: true, detail };
}

export function failed(name: string, detail: string): Check {
  return { name, isGood: false, detail };
}

/** A check that passes unless a problem is given. */
export function checked(name: string, problem: string | null, detail: string): Check {
  return problem === null ? passed(name, detail) : failed(name, problem);
}

/** The given code if a check failed; `EXIT.good` if none did. */
export function exitCodeOf(checks: readonly Check[], code: ExitCode): ExitCode {
  return checks.every(({ isGood }) => isGood) ? EXIT.good : code;
}
