/** `vouchbox verify-page` in the table of commands. */
import type { Command } from 'commander';
import type { JsonOption } from '../terminal/print.ts';
import { ending, withJson } from './options.ts';

/** `vouchbox verify-page`. */
export function addVerifyPage(program: Command): void {
  const command = program
    .command('verify-page')
    .description('write the page that checks an exported job in a browser, without a service and a network')
    .argument('<file>', 'a new file, such as verify.html')
    .action(async (file: string, options: JsonOption) =>
      ending((await import('../verify-page.ts')).writeVerifyPage(file, options)),
    );
  withJson(command);
}
