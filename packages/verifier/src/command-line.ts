/** What all commands of `service-verify` share: how an option is read, and how a verdict is reported. */
import { type Command, InvalidArgumentError } from 'commander';
import type { ExitCode } from './exit-code.ts';
import type { Made } from './new-file.ts';
import type { Report } from './report.ts';
import { type Shown, showJson, showText } from './show-report.ts';

/** How the command ends, and what it prints. */
export interface Ending extends Shown {
  readonly exitCode: ExitCode;
}

/** Where a parsed command puts its output and its result. */
export interface Stage {
  readonly said: { stdout: string; stderr: string };
  readonly end: (ending: Ending) => void;
}

export interface OutputOptions {
  readonly json?: boolean;
}

export const collect = (value: string, earlier: readonly string[] = []): readonly string[] => [...earlier, value];

/** An option that may be given only once: otherwise a later value would silently replace an earlier one. */
export function once(value: string, earlier: string | undefined): string {
  if (earlier !== undefined) throw new InvalidArgumentError('It is given twice.');
  return value;
}

export function withKeys(command: Command): Command {
  return command
    .requiredOption('--public-key <file>', 'a pinned key as PEM; may be repeated, every one is tried', collect)
    .option('--json', 'print it as JSON');
}

export function withTrust(command: Command): Command {
  return withKeys(command).requiredOption('--tenant <tenant>', 'the tenant you expect', once);
}

export function tell(stage: Stage, { json = false }: OutputOptions, report: Report): void {
  stage.end({ exitCode: report.exitCode, ...(json ? showJson(report) : showText(report)) });
}

/** Prints a command's text on stdout and its report on stderr. If the text went to a file, the report goes to stdout. */
export function tellMade(stage: Stage, { report, text }: Made): void {
  const { stdout, stderr } = showText(report);
  const shown = text === null ? { stdout, stderr } : { stdout: text, stderr: stdout };
  stage.end({ exitCode: report.exitCode, ...shown });
}
