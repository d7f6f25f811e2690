/** `vouchbox attestation-keys` in the table of commands. */
import type { Command } from 'commander';
import type { AttestationKeysOptions } from '../operator/attestation-keys.ts';
import { ending, withDataDirectory, withJson } from './options.ts';

/** `vouchbox attestation-keys` and its verbs. */
export function addAttestationKeys(program: Command): void {
  const keys = program.command('attestation-keys').description('rotate, list and export the keys that sign results');
  const rotate = keys
    .command('rotate')
    .description('sign with a new key from now on, also in a service that runs; the old public key is kept')
    .action(async (options: AttestationKeysOptions) =>
      ending((await import('../operator/attestation-keys.ts')).rotateAttestationKey(options)),
    );
  const list = keys
    .command('list')
    .description('every key that ever signed, oldest first')
    .action(async (options: AttestationKeysOptions) =>
      ending((await import('../operator/attestation-keys.ts')).listAttestationKeys(options)),
    );
  const exported = keys
    .command('export')
    .description('the public key as PEM, for those who check results to pin')
    .argument('[key]', 'its identifier, as the list shows it; the current one without')
    .option('--output <file>', 'write it to this file instead of printing it')
    .action(async (key: string | undefined, options: AttestationKeysOptions) =>
      ending((await import('../operator/attestation-keys.ts')).exportAttestationKey(key, options)),
    );
  for (const command of [rotate, list, exported]) withJson(withDataDirectory(command));
}
