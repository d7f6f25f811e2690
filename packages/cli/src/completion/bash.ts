/** Completion for bash, from version 3.2 on. */
import { quoted } from './quote.ts';
import type { CommandWords } from './words.ts';

/** Where no word of ours fits, bash completes names of files. */
export function bashScript(commands: readonly CommandWords[]): string {
  const paths = commands.filter(({ path }) => path !== '').map(({ path }) => quoted(` ${path}`));
  return `# Completion of vouchbox for bash, made by: vouchbox completion bash
_vouchbox() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} typed= at words=
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "$typed \${COMP_WORDS[at]}" in
      ${paths.join('|')}) typed="$typed \${COMP_WORDS[at]}" ;;
    esac
  done
  case "$typed:$before" in
${commands.flatMap(valueCases).join('\n')}
    *)
      case "$typed:$word" in
${commands.flatMap(wordCases).join('\n')}
      esac
      ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _vouchbox vouchbox svc
`;
}

/** After an option that takes a value: the values, or nothing, so that a file is completed. */
function valueCases({ path, options }: CommandWords): string[] {
  return options
    .filter(({ takesValue }) => takesValue)
    .map(({ word, values }) => {
      const before = `${path === '' ? '' : ` ${path}`}:${word}`;
      return `    ${quoted(before)}) words=${quoted(values.join(' '))} ;;`;
    });
}

function wordCases({ path, commands, choices, options }: CommandWords): string[] {
  const typed = quoted(`${path === '' ? '' : ` ${path}`}:`);
  const others = [...commands.map(({ word }) => word), ...choices];
  return [
    `        ${typed}-*) words=${quoted(options.map(({ word }) => word).join(' '))} ;;`,
    `        ${typed}*) words=${quoted(others.join(' '))} ;;`,
  ];
}
