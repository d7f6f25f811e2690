/**
 * The profiles of `vouchbox login`: services' addresses and the keys to call them with, by name. They are in one file that
 * only its owner may read. A file that others can read is refused, and so is a malformed file.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { makeDirectories } from '@vouchbox/server/make-directories';
import { CommandFailure } from '../failures/command-failure.ts';
import { UsageError } from '../failures/usage-error.ts';
import { configDirectory } from './environment.ts';

export interface Profile {
  /** The address of the service, such as `https://box.example`. */
  readonly url: string;
  /** The key, which is sent only to that address and is never printed. */
  readonly key: string;
}

/** The profile that is used if none is named. */
export const DEFAULT_PROFILE = 'default';

/** A profile's name: 1 to 64 letters, digits, dots, hyphens and underscores. */
const PROFILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** @throws UsageError if no profile can have this name */
export function checkProfileName(name: string): string {
  if (PROFILE_NAME.test(name)) return name;
  throw new UsageError(`--profile ${name}: a name has up to 64 letters, digits, dots, hyphens and underscores`);
}

/** The file that has all profiles. */
export function profilesFile(): string {
  return join(configDirectory(), 'profiles.json');
}

/** All profiles by name; none if there was no login. @throws CommandFailure if the file cannot be trusted or read */
export function readProfiles(): ReadonlyMap<string, Profile> {
  const file = profilesFile();
  const text = readPrivate(file);
  return text === null ? new Map() : parseProfiles(text, file);
}

/** Replaces the file as a whole, so that nobody ever reads a part of it. */
export function writeProfiles(profiles: ReadonlyMap<string, Profile>): void {
  const file = profilesFile();
  const partial = `${file}.${process.pid}`;
  try {
    makeDirectories(dirname(file), 0o700);
    const text = JSON.stringify({ profiles: Object.fromEntries(profiles) }, null, 2);
    writeFileSync(partial, `${text}\n`, { flag: 'wx', mode: 0o600 });
    renameSync(partial, file);
  } catch (error) {
    if (existsSync(partial)) rmSync(partial);
    const advice = 'set XDG_CONFIG_HOME to a directory that can be written';
    throw new CommandFailure(`${file} cannot be written: ${(error as Error).message}; ${advice}`, { cause: error });
  }
}

/** The text of a file that nobody but its owner can read; null if there is no file. */
function readPrivate(file: string): string | null {
  const opened = openIfThere(file);
  if (opened === null) return null;
  try {
    const { mode } = fstatSync(opened);
    if ((mode & 0o077) !== 0) {
      throw new CommandFailure(`${file} has keys, and others can read it; run chmod 600 ${file}`);
    }
    return readFileSync(opened, 'utf8');
  } finally {
    closeSync(opened);
  }
}

function openIfThere(file: string): number | null {
  try {
    return openSync(file, constants.O_RDONLY);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    // A system user often has a HOME that is no directory, such as /dev/null.
    if (['ENOENT', 'ENOTDIR'].includes(code)) return null;
    throw new CommandFailure(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

function parseProfiles(text: string, file: string): Map<string, Profile> {
  const profiles = new Map<string, Profile>();
  for (const [name, profile] of Object.entries(membersOf(text))) {
    if (!isProfile(profile)) throw new CommandFailure(`${file}: the profile ${name} has no url and key`);
    profiles.set(name, profile);
  }
  return profiles;
}

/** The failure's message contains no part of the text, because the text has keys. */
function membersOf(text: string): object {
  try {
    const { profiles } = JSON.parse(text) as { profiles?: unknown };
    if (typeof profiles === 'object' && profiles !== null) return profiles;
  } catch {
    // The error below reports this text, as it reports any other text in a wrong form.
  }
  throw new CommandFailure(`${profilesFile()} is not a file of profiles; remove it and log in again`);
}

function isProfile(value: unknown): value is Profile {
  if (typeof value !== 'object' || value === null) return false;
  const { url, key } = value as Record<string, unknown>;
  return typeof url === 'string' && typeof key === 'string';
}
