/** `vouchbox keys` in the table of commands. */
import type { Command } from 'commander';
import type { KeysOptions } from '../operator/keys.ts';
import { ending, withJson, withStore } from './options.ts';

/** `vouchbox keys` and its verbs. */
export function addKeys(program: Command): void {
  const keys = program.command('keys').description('issue, list, rotate and revoke the keys that callers use');
  const create = keys
    .command('create')
    .description('issue a key: it is printed once, and only its digest is stored')
    .requiredOption('--tenant <tenant>', 'the tenant that the key belongs to')
    .option('--principal <name>', 'who uses the key, as the history of a job names them')
    .option('--scopes <scopes>', 'the scopes of the key, separated by commas; default: all')
    .action(async (options: KeysOptions) => ending((await import('../operator/keys.ts')).createKey(options)));
  const list = keys
    .command('list')
    .description('every key and its state, oldest first')
    .option('--tenant <tenant>', 'only the keys of this tenant')
    .action(async (options: KeysOptions) => ending((await import('../operator/keys.ts')).listKeys(options)));
  const rotate = keys
    .command('rotate')
    .description('issue a key that replaces another, which ends, with everything that it holds open')
    .argument('<credential>', 'the identifier of the old key, as the list shows it')
    .option('--overlap <duration>', 'keep the old key valid for this long: 30m, 12h, 7d')
    .action(async (id: string, options: KeysOptions) =>
      ending((await import('../operator/keys.ts')).rotateKey(id, options)),
    );
  const revoke = keys
    .command('revoke')
    .description('end a key now, with everything that it holds open')
    .argument('<credential>', 'its identifier, as the list shows it')
    .action(async (id: string, options: KeysOptions) =>
      ending((await import('../operator/keys.ts')).revokeKey(id, options)),
    );
  for (const command of [create, rotate]) {
    command
      .option('--expires-in <duration>', 'how long the key is valid: 12h, 90d')
      .option('--expires-at <time>', 'until when the key is valid: 2031-01-31T12:00:00Z');
  }
  for (const command of [create, list, rotate, revoke]) withJson(withStore(command));
}
