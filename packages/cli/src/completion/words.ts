/** What can be typed after each command: read from the table of commands, so that it is never out of date. */
import { ISOLATION_CLASSES, JOB_STATUSES, LANGUAGES, LIMIT_NAMES } from '@vouchbox/protocol/vocabulary';
import type { Command, Option } from 'commander';

/** A word that can be typed, and what it means in one line. */
export interface Word {
  readonly word: string;
  readonly description: string;
}

export interface OptionWords extends Word {
  readonly takesValue: boolean;
  /** What may follow; empty if it is not one of a list. */
  readonly values: readonly string[];
}

/** One command. */
export interface CommandWords {
  /** The words that lead to it, such as `jobs list`; empty for `vouchbox` itself. */
  readonly path: string;
  readonly commands: readonly Word[];
  /** The words that its argument may be; empty if it is not one of a list. */
  readonly choices: readonly string[];
  readonly options: readonly OptionWords[];
}

/** Every command, the first one first. */
export function commandWords(program: Command): CommandWords[] {
  return wordsOf(program, '');
}

function wordsOf(command: Command, path: string): CommandWords[] {
  const below = command.commands.flatMap((child) => wordsOf(child, `${path} ${child.name()}`.trimStart()));
  const help = { word: '--help', description: 'show help', takesValue: false, values: [] };
  const own = {
    path,
    commands: command.commands.map((child) => ({ word: child.name(), description: child.description() })),
    choices: command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
    options: [...command.options.map(optionWords), help],
  };
  return [own, ...below];
}

/** What may follow an option, where it is one of a list. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  '--language': LANGUAGES,
  '--limit <name=value>': LIMIT_NAMES.map((name) => `${name}=`),
  '--minimum-isolation': ISOLATION_CLASSES,
  '--runtime <language=pack>': LANGUAGES.map((name) => `${name}=`),
  '--status': JOB_STATUSES,
};

function optionWords(option: Option): OptionWords {
  const { flags, description } = option;
  const word = option.long ?? flags;
  const values = option.argChoices ?? VALUES[flags] ?? VALUES[word] ?? [];
  return { word, description, takesValue: option.required || option.optional, values };
}
