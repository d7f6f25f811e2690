/** Completion for zsh. It works as a file of `$fpath`, and where it is sourced. */
import { quoted } from './quote.ts';
import type { CommandWords, Word } from './words.ts';

/** Commands and options come with what they mean. */
export function zshScript(commands: readonly CommandWords[]): string {
  const paths = commands.filter(({ path }) => path !== '').map(({ path }) => quoted(` ${path}`));
  return `#compdef vouchbox svc
# Completion of vouchbox for zsh, made by: vouchbox completion zsh
_vouchbox() {
  local typed= at
  local -a entries
  for ((at = 2; at < CURRENT; at++)); do
    case "$typed $words[at]" in
      (${paths.join('|')}) typed="$typed $words[at]" ;;
    esac
  done
  case "$typed:$words[CURRENT-1]" in
${commands.flatMap(valueCases).join('\n')}
  esac
  case "$typed:$words[CURRENT]" in
${commands.flatMap(wordCases).join('\n')}
  esac
}
if [ "$funcstack[1]" = _vouchbox ]; then _vouchbox "$@"; else compdef _vouchbox vouchbox svc; fi
`;
}

function valueCases({ path, options }: CommandWords): string[] {
  return options
    .filter(({ takesValue }) => takesValue)
    .map(({ word, values }) => {
      const before = quoted(`${path === '' ? '' : ` ${path}`}:${word}`);
      const complete = values.length === 0 ? '_files' : `compadd -- ${values.map(quoted).join(' ')}`;
      return `    (${before}) ${complete}; return ;;`;
    });
}

function wordCases({ path, commands, choices, options }: CommandWords): string[] {
  const typed = quoted(`${path === '' ? '' : ` ${path}`}:`);
  const words = [...commands, ...choices.map((word) => ({ word, description: '' }))];
  const others = words.length === 0 ? '_files' : `entries=(${words.map(entry).join(' ')}); _describe command entries`;
  return [
    `    (${typed}-*) entries=(${options.map(entry).join(' ')}); _describe -o option entries ;;`,
    `    (${typed}*) ${others} ;;`,
  ];
}

/** A word and its meaning, with a colon between them; one that belongs to the word is escaped. */
function entry({ word, description }: Word): string {
  return quoted(`${word.replaceAll(':', '\\:')}:${description}`);
}
