/** Adds `vouchbox keys` and `vouchbox attestation-keys` to the table of commands. */
import type { Command } from 'commander';
import { duration, running, withDataDirectory, withJson, withStore } from './options.ts';

/** `vouchbox keys` and its subcommands. */
export function addKeys(program: Command): void {
  const keys = program.command('keys').description('issue, list, rotate and revoke the keys that callers use');
  const create = keys
    .command('create')
    .description('issue a key: it is printed once, and only its digest is stored')
    .requiredOption('--tenant <tenant>', 'the tenant that the key belongs to')
    .option('--principal <name>', 'who uses the key, as the history of a job names them')
    .option('--scopes <scopes>', 'the scopes of the key, separated by commas; default: all')
    .action(running(async () => (await import('../operator/keys.ts')).createKey));
  const list = keys
    .command('list')
    .description('every key and its state, oldest first')
    .option('--tenant <tenant>', 'only the keys of this tenant')
    .action(running(async () => (await import('../operator/keys.ts')).listKeys));
  const rotate = keys
    .command('rotate')
    .description('issue a key that replaces another; the old key ends, with every wait and stream that it holds open')
    .argument('<credential>', 'the identifier of the old key, as the list shows it')
    .option('--overlap <duration>', 'keep the old key valid for this long: 30m, 12h, 7d', duration)
    .action(running(async () => (await import('../operator/keys.ts')).rotateKey));
  const revoke = keys
    .command('revoke')
    .description('end a key now, with every wait and stream that it holds open')
    .argument('<credential>', 'its identifier, as the list shows it')
    .action(running(async () => (await import('../operator/keys.ts')).revokeKey));
  for (const command of [create, rotate]) {
    command
      .option('--expires-in <duration>', 'how long the key is valid: 12h, 90d', duration)
      .option('--expires-at <time>', 'until when the key is valid: 2031-01-31T12:00:00Z');
  }
  for (const command of [create, list, rotate, revoke]) withJson(withStore(command));
}

/** `vouchbox attestation-keys` and its subcommands. */
export function addAttestationKeys(program: Command): void {
  const keys = program.command('attestation-keys').description('rotate, list and export the keys that sign results');
  const rotate = keys
    .command('rotate')
    .description('sign with a new key from now on, also in a service that runs; the old public key is kept')
    .action(running(async () => (await import('../operator/attestation-keys.ts')).rotateAttestationKey));
  const list = keys
    .command('list')
    .description('every key that ever signed, oldest first')
    .action(running(async () => (await import('../operator/attestation-keys.ts')).listAttestationKeys));
  const exported = keys
    .command('export')
    .description('the public key as PEM, for those who check results to pin')
    .argument('[key]', 'its identifier, as the list shows it; default: the current key')
    .option('--output <file>', 'write it to this file instead of printing it')
    .action(running(async () => (await import('../operator/attestation-keys.ts')).exportAttestationKey));
  for (const command of [rotate, list, exported]) withJson(withDataDirectory(command));
}
