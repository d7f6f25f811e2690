/** Adds `vouchbox completion` to the table of commands. The scripts that it prints know the words of that table. */
import { Argument, type Command } from 'commander';
import type { Shell } from '../completion/completion-script.ts';

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print the completion script of this command for a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish'] satisfies Shell[]))
    .addHelpText('after', COMPLETION_HELP)
    .action(async (shell: Shell) => {
      const { completionScript } = await import('../completion/completion-script.ts');
      process.stdout.write(completionScript(shell, program));
    });
}

const COMPLETION_HELP = `
bash: source <(vouchbox completion bash)                                     in ~/.bashrc
zsh:  vouchbox completion zsh > DIRECTORY/_vouchbox                          DIRECTORY is one of $fpath
fish: vouchbox completion fish > ~/.config/fish/completions/vouchbox.fish`;
