/** Completion for fish. */
import { quotedForFish } from './quote.ts';
import type { CommandWords, OptionWords } from './words.ts';

/** Commands and options come with what they mean. Names of files are completed where a command takes an argument. */
export function fishScript(commands: readonly CommandWords[]): string {
  const paths = commands.filter(({ path }) => path !== '').map(({ path }) => quotedForFish(` ${path}`));
  return `# Completion of vouchbox for fish, made by: vouchbox completion fish
set -g __vouchbox_paths ${paths.join(' ')}
function __vouchbox_at
    set -l typed ''
    for word in (commandline -opc)[2..-1]
        contains -- "$typed $word" $__vouchbox_paths; and set typed "$typed $word"
    end
    test "$typed" = "$argv[1]"
end
${commands.flatMap(linesOf).join('\n')}
complete -c svc -w vouchbox
`;
}

function linesOf({ path, commands, choices, options }: CommandWords): string[] {
  const at = `complete -c vouchbox -n ${quotedForFish(`__vouchbox_at ${quotedForFish(path === '' ? '' : ` ${path}`)}`)}`;
  return [
    ...commands.map(({ word, description }) => `${at} -f -a ${word} -d ${quotedForFish(description)}`),
    ...choices.map((word) => `${at} -f -a ${word}`),
    ...options.map((option) => `${at} ${optionLine(option)}`),
  ];
}

function optionLine({ word, description, takesValue, values }: OptionWords): string {
  const value = values.length > 0 ? ` -x -a ${quotedForFish(values.join(' '))}` : takesValue ? ' -r' : '';
  return `-l ${word.replace(/^--/, '')}${value} -d ${quotedForFish(description)}`;
}
