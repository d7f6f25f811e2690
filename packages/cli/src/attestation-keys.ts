/**
 * `vouchbox attestation-keys`: manages the keys that sign results, on the service's own host. They are files in the data
 * directory. A running service uses a new key from its next signature on.
 */
import { writeFile } from 'node:fs/promises';
import { type KnownKey, knownKeys, requireData, rotateSigningKey } from '@vouchbox/server/administration';
import { administeredService, type DataOptions } from './administered-service.ts';
import { EXIT } from './exit-code.ts';
import { tableOf } from './table.ts';
import { UsageError } from './usage-error.ts';

/** Options of the `vouchbox attestation-keys` commands; no command has all of them. */
export interface AttestationKeysOptions extends DataOptions {
  readonly json?: true;
  readonly output?: string;
}

/** Makes a new key, prints its identifier, and reports on stderr what happened to the old one. */
export async function rotateAttestationKey(options: AttestationKeysOptions): Promise<number> {
  const { retired, current } = rotateSigningKey(await dataDirOf(options));
  if (retired !== null) {
    process.stderr.write(`${retired} signs nothing any more; its public key is kept, for what it signed\n`);
  }
  process.stderr.write('results are signed from now on with:\n');
  process.stdout.write(`${current}\n`);
  return EXIT.ok;
}

/** Prints every key, oldest first. */
export async function listAttestationKeys(options: AttestationKeysOptions): Promise<number> {
  const keys = knownKeys(await dataDirOf(options));
  const rows = keys.map((key) => [key.key_id, stateOf(key), key.since]);
  const views = keys.map((key) => ({
    key_id: key.key_id,
    state: stateOf(key),
    since: key.since,
    public_key_pem: key.public_key_pem,
  }));
  process.stdout.write(
    options.json ? `${JSON.stringify(views, null, 2)}\n` : tableOf([['key_id', 'state', 'since'], ...rows]),
  );
  return EXIT.ok;
}

/** Prints the public key that an auditor pins, or writes it to a new file. */
export async function exportAttestationKey(
  key_id: string | undefined,
  options: AttestationKeysOptions,
): Promise<number> {
  const keys = knownKeys(await dataDirOf(options));
  const found = keys.find((key) => (key_id === undefined ? key.isCurrent : key.key_id === key_id));
  if (found === undefined) {
    throw new UsageError(
      key_id === undefined
        ? 'there is no signing key yet: a service that signs makes one'
        : `${key_id} is none of the keys; \`vouchbox attestation-keys list\` lists them`,
    );
  }
  if (options.output === undefined) process.stdout.write(found.public_key_pem);
  else await writeFile(options.output, found.public_key_pem, { flag: 'wx' });
  return EXIT.ok;
}

function stateOf({ isCurrent }: KnownKey): 'current' | 'retired' {
  return isCurrent ? 'current' : 'retired';
}

async function dataDirOf(options: AttestationKeysOptions): Promise<string> {
  const { dataDir } = await administeredService(options);
  requireData(dataDir);
  return dataDir;
}
