/** Settings of the directories of tests: each directory inherits missing keys from the nearest directory above. */
import type { Settings } from './yaml.ts';

/** The settings of each directory that has some, by its path below `data`. */
export type Directories = ReadonlyMap<string, Settings>;

/** Settings that are in force in a directory, those of the nearest directory first. */
export function settingsAbove(directory: string, directories: Directories): readonly Settings[] {
  const parts = ['', ...directory.split('/')];
  const paths = parts.map((_, at) => parts.slice(1, parts.length - at).join('/'));
  return paths.flatMap((path) => directories.get(path) ?? []);
}

/** The value in the nearest directory that has the key. */
export function settingOf<T>(
  directory: string,
  directories: Directories,
  read: (settings: Settings) => T | undefined,
): T | undefined {
  for (const settings of settingsAbove(directory, directories)) {
    const said = read(settings);
    if (said !== undefined) return said;
  }
  return undefined;
}
