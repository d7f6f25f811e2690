/** Settings of test directories: each directory inherits missing keys from the nearest directory above it. */
import type { Settings } from './yaml.ts';

/** The directories' own settings, keyed by their paths below `data`. */
export type Directories = ReadonlyMap<string, Settings>;

/** The settings that apply in a directory, those of the nearest directory first. */
export function settingsAbove(directory: string, directories: Directories): readonly Settings[] {
  const parts = ['', ...directory.split('/')];
  const paths = parts.map((_, at) => parts.slice(1, parts.length - at).join('/'));
  return paths.flatMap((path) => directories.get(path) ?? []);
}

/** The value from the nearest directory whose settings have the key. */
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
