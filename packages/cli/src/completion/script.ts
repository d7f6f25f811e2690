/** The text that makes a shell complete the words of `vouchbox`, and of `svc`, its second name. */
import type { Command } from 'commander';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import type { Shell } from './shells.ts';
import { type CommandWords, commandWords } from './words.ts';
import { zshScript } from './zsh.ts';

const SCRIPTS: Readonly<Record<Shell, (commands: readonly CommandWords[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** What the shell is to read. */
export function completionScript(shell: Shell, program: Command): string {
  return SCRIPTS[shell](commandWords(program));
}
