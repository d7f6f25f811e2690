/** `vouchbox restore`: makes a data directory from a backup, for a service that does not run. */
import { resolve } from 'node:path';
import { loadConfig, OperatorError, restore } from '@vouchbox/server/administration';
import { EXIT } from '../failures/exit-code.ts';
import { serverEnvironment } from '../service/environment.ts';
import { type JsonOption, note, printResult } from '../terminal/print.ts';
import { shellWord } from '../terminal/shell-word.ts';

export interface RestoreCommandOptions extends JsonOption {
  readonly attestationKeys?: string;
  readonly dataDir?: string;
}

/** Restores a backup, and says on stderr where to and what is still to do. */
export async function restoreFrom(file: string, options: RestoreCommandOptions): Promise<number> {
  const { dataDir, databaseUrl } = loadConfig(serverEnvironment(), { 'data-dir': options.dataDir });
  if (databaseUrl !== null) {
    throw new OperatorError('a store is restored into a data directory, and SERVICE_DATABASE_URL names another place', {
      hint: 'unset it, restore, and move svc.db there before the first start',
    });
  }
  const { attestationKeys } = options;
  await restore({
    backup: resolve(file),
    attestationKeys: attestationKeys === undefined ? null : resolve(attestationKeys),
    dataDir,
  });
  const keys = attestationKeys === undefined ? '; it has no signing keys: the first start makes a new one' : '';
  note(`${dataDir} has everything of the backup, and every check passed${keys}`);
  note(`start it with: vouchbox serve --data-dir ${shellWord(dataDir)}`);
  printResult(options, '', { data_dir: dataDir, has_signing_keys: attestationKeys !== undefined });
  return EXIT.ok;
}
