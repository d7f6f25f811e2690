/**
 * Secret settings from files. A supervisor hands over each secret in a file that is named like its variable: systemd.exec(5),
 * LoadCredential=. Unlike the environment, these files are not visible to other users or to programs that this process starts.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from '../ground/start-error.ts';
import { SECRET_SETTINGS } from './settings.ts';

/**
 * The secrets in a directory, keyed by the names of their settings; empty if no directory is given. A file may end in line
 * breaks. A setting whose file is missing or empty counts as not given.
 *
 * @throws StartError if a file cannot be read. The message never shows a secret.
 */
export function secretsFrom(directory: string | undefined): Record<string, string> {
  if (!directory) return {};
  const given: Record<string, string> = {};
  for (const name of SECRET_SETTINGS) {
    const value = readSecret(join(directory, name));
    if (value) given[name] = value;
  }
  return given;
}

function readSecret(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').replace(/[\r\n]+$/, '');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new StartError(`the credential ${path} cannot be read: ${code}`, { cause });
  }
}
