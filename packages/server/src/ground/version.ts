/** What the manifest of this package says. */
import { readFileSync } from 'node:fs';

const { version, peerDependencies } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { version: string; peerDependencies: Record<string, string> };

/** The version of the service, as it is released. */
export const VERSION: string = version;

/** The versions of the packages that only some settings need, and that an operator installs. */
export const OPTIONAL_PACKAGES: Readonly<Record<string, string>> = peerDependencies;
