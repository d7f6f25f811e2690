/**
 * The completion script for `vouchbox` and for its second name, `svc`. The script contains all words from the table of commands,
 * and a short shell function that looks up the matching words. Pressing Tab starts no program.
 */
import { JOB_STATUSES, LANGUAGES, LIMIT_NAMES } from '@vouchbox/protocol/vocabulary';
import type { Command, Option } from 'commander';
import { shellWord } from '../terminal/shell-word.ts';

/** The script that the shell reads. */
export function completionScript(shell: Shell, program: Command): string {
  return SCRIPTS[shell](`\n${linesOf(program, '').join('\n')}`);
}

/**
 * A line for each word: the words before it, the word, and its meaning, as in `jobs |list|the newest jobs first`. For a
 * value, the words end with its option: `jobs list --status|queued|`. A line without a word says that the option takes a value.
 */
function linesOf(command: Command, typed: string): string[] {
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  return [
    ...command.commands.map((child) => `${typed}|${child.name()}|${child.description()}`),
    ...choices.map((choice) => `${typed}|${choice}|`),
    ...command.options.map((option) => `${typed}|${wordOf(option)}|${option.description}`),
    `${typed}|--help|show help`,
    ...command.options.flatMap((option) => valueLines(option, typed + wordOf(option))),
    ...command.commands.flatMap((child) => linesOf(child, `${typed}${child.name()} `)),
  ];
}

function wordOf({ long, flags }: Option): string {
  return long ?? flags;
}

/** The possible values of each option that takes one from a list. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  '--language': LANGUAGES,
  '--limit <name=value>': LIMIT_NAMES.map((name) => `${name}=`),
  '--runtime <language=pack>': LANGUAGES.map((name) => `${name}=`),
  '--status': JOB_STATUSES,
};

function valueLines(option: Option, typed: string): string[] {
  if (!option.required && !option.optional) return [];
  const values = option.argChoices ?? VALUES[option.flags] ?? VALUES[wordOf(option)] ?? [];
  return [`${typed}|`, ...values.map((value) => `${typed}|${value}|`)];
}

/** A function for zsh and for bash from 3.2 on. It takes the word being typed and the words before it, and prints the offers. */
const OFFERS = (table: string) => `_vouchbox_table=${shellWord(table)}
_vouchbox_offers() {
  local word=$1 before= typed= context rest
  shift
  for before in "$@"; do
    [[ $before != -* && $_vouchbox_table == *$'\\n'"$typed$before |"* ]] && typed="$typed$before "
  done
  [[ $before == -* && $_vouchbox_table == *$'\\n'"$typed$before|"* ]] && typed=$typed$before
  while IFS='|' read -r context rest; do
    [[ $context == "$typed" && -n $rest && ( $rest != -* || $word == -* ) ]] && printf '%s\\n' "$rest"
  done <<< "$_vouchbox_table"
}`;

/** Makes each shell's script from the table. If no word of the table fits, the shell completes file names. */
const SCRIPTS = {
  bash: (table: string) => `# Completion of vouchbox for bash, made by: vouchbox completion bash
${OFFERS(table)}
_vouchbox() {
  local IFS=$'\\n' word=\${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=($(compgen -W "$(_vouchbox_offers "$word" "\${COMP_WORDS[@]:1:COMP_CWORD-1}" | cut -d '|' -f 1)" -- "$word"))
}
complete -o default -F _vouchbox vouchbox svc
`,
  zsh: (table: string) => `#compdef vouchbox svc
# Completion of vouchbox for zsh, made by: vouchbox completion zsh. It works as a file of $fpath, and where it is sourced.
${OFFERS(table)}
_vouchbox() {
  local word description
  local -a entries
  _vouchbox_offers "$words[CURRENT]" "\${(@)words[2,CURRENT-1]}" | while IFS='|' read -r word description; do
    entries+=("\${word//:/\\\\:}:$description")
  done
  if (( ! $#entries )); then _files
  elif [[ $words[CURRENT] == -* ]]; then _describe -o option entries
  else _describe command entries
  fi
}
if [ "$funcstack[1]" = _vouchbox ]; then _vouchbox "$@"; else compdef _vouchbox vouchbox svc; fi
`,
  fish: (table: string) => `# Completion of vouchbox for fish, made by: vouchbox completion fish
set -g __vouchbox_table (string split \\n -- '${table.replaceAll(/['\\]/g, String.raw`\$&`)}')
function __vouchbox_offers
    set -l contexts (string split -f1 '|' -- $__vouchbox_table)
    set -l words (commandline -opc)[2..-1]
    set -l typed ''
    for word in $words
        not string match -q -- '-*' $word; and contains -- "$typed$word " $contexts; and set typed "$typed$word "
    end
    contains -- "$typed$words[-1]" $contexts; and string match -q -- '-*' "$words[-1]"; and set typed "$typed$words[-1]"
    for line in $__vouchbox_table
        set -l parts (string split -m2 '|' -- $line)
        test "$parts[1]" = "$typed"; and test -n "$parts[2]"; or continue
        string match -q -- '-*' $parts[2]; and not string match -q -- '-*' (commandline -ct); and continue
        printf '%s\\t%s\\n' $parts[2] "$parts[3]"
    end
end
complete -c vouchbox -n '__vouchbox_offers | string length -q' -f -a '(__vouchbox_offers)'
complete -c svc -w vouchbox
`,
} as const;
export type Shell = keyof typeof SCRIPTS;
