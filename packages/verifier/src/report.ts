/** What a command of `service-verify` came to, before it is told to a person or to a machine. */
import { EXIT, type ExitCode } from './exit-code.ts';

/** One thing that was looked at. `detail` says what was found, or what is wrong. */
export interface Check {
  readonly name: string;
  readonly isGood: boolean;
  readonly detail: string;
}

/** What good evidence says, plainly, by name. Text in it comes from whoever signed, and is not to be trusted as markup. */
export type Facts = Readonly<Record<string, string | number | boolean | null>>;

export interface Report {
  readonly exitCode: ExitCode;
  /** In the order they were made. The first that is not good explains the exit code. */
  readonly checks: readonly Check[];
  /** Empty where the evidence was refused: nothing that it says is worth repeating. */
  readonly facts: Facts;
  /** What a good verdict shows and what it does not; null beside a bad one. */
  readonly notice: string | null;
}

export function passed(name: string, detail: string): Check {
  return { name, isGood: true, detail };
}

export function failed(name: string, detail: string): Check {
  return { name, isGood: false, detail };
}

/** A check that is good where there is nothing to say against it. */
export function checked(name: string, problem: string | null, detail: string): Check {
  return problem === null ? passed(name, detail) : failed(name, problem);
}

/** The given code where a check failed, and good where none did. */
export function exitCodeOf(checks: readonly Check[], code: ExitCode): ExitCode {
  return checks.every(({ isGood }) => isGood) ? EXIT.good : code;
}
