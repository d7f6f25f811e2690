/**
 * `vouchbox attestation-keys`: manages the keys that sign results, on the service's own host. The keys are files in the
 * data directory. A running service uses a new key from its next signature on.
 */
import { type KnownKey, knownKeys, requireData, rotateSigningKey } from '@vouchbox/server/administration';
import { UsageError } from '../failures/usage-error.ts';
import { writeNew } from '../files/new-file.ts';
import { type JsonOption, note, printResult, tableOf } from '../terminal/print.ts';
import { shellWord } from '../terminal/shell-word.ts';
import { administeredService, type DataOptions } from './administered-service.ts';

/** Options of the `vouchbox attestation-keys` commands; no command has all of them. */
export interface AttestationKeysOptions extends DataOptions, JsonOption {
  readonly output?: string;
}

/** Makes a new key, prints its identifier, and reports on stderr what happened to the previous key. */
export async function rotateAttestationKey(options: AttestationKeysOptions): Promise<void> {
  const { retired, current } = rotateSigningKey(await dataDirOf(options));
  if (retired !== null) note(`${retired} signs nothing any more; its public key is kept, to check what it signed`);
  note('auditors must pin the new key too; `vouchbox attestation-keys export` prints it');
  if (!options.json) note('results are signed from now on with:');
  printResult(options, `${current}\n`, { retired, current });
}

/** Prints every key, oldest first. */
export async function listAttestationKeys(options: AttestationKeysOptions): Promise<void> {
  const keys = knownKeys(await dataDirOf(options));
  const rows = keys.map((key) => [key.key_id, stateOf(key), key.since]);
  const views = keys.map(viewOf);
  printResult(options, tableOf([['key_id', 'state', 'since'], ...rows]), views);
}

/** Prints the public key that an auditor pins, or writes it to a new file. */
export async function exportAttestationKey(key_id: string | undefined, options: AttestationKeysOptions): Promise<void> {
  const keys = knownKeys(await dataDirOf(options));
  const found = keys.find((key) => (key_id === undefined ? key.isCurrent : key.key_id === key_id));
  if (found === undefined) {
    throw new UsageError(
      key_id === undefined
        ? 'there is no signing key yet: a service that signs makes one at its start'
        : `${key_id} is not one of the keys; \`vouchbox attestation-keys list\` lists them`,
    );
  }
  if (options.output !== undefined) writeNew(options.output, found.public_key_pem, '--output');
  printResult(options, options.output === undefined ? found.public_key_pem : '', viewOf(found));
  if (!options.json) sayWhatToDo(found.key_id, options.output);
}

/** Says how to pass the key on. The key's identifier is its fingerprint; it must reach the auditor in another way. */
function sayWhatToDo(key_id: string, file = 'FILE'): void {
  note(`the key is ${key_id}; give the file to those who check results, and tell them this identifier another way`);
  note(`they run: npx --no service-verify directory EXPORT --public-key ${shellWord(file)} --tenant TENANT`);
}

function viewOf({ key_id, since, public_key_pem, ...key }: KnownKey) {
  return { key_id, state: stateOf(key), since, public_key_pem };
}

function stateOf({ isCurrent }: Pick<KnownKey, 'isCurrent'>): 'current' | 'retired' {
  return isCurrent ? 'current' : 'retired';
}

async function dataDirOf(options: AttestationKeysOptions): Promise<string> {
  const { dataDir } = await administeredService(options);
  requireData(dataDir);
  return dataDir;
}
