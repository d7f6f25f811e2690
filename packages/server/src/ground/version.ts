/** Facts from this package's manifest. */
import { readFileSync } from 'node:fs';

const { version, peerDependencies } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { version: string; peerDependencies: Record<string, string> };

/** The version of the service, as it is released. */
export const VERSION: string = version;

/** The versions of the optional packages: an operator installs those that some settings need. */
export const OPTIONAL_PACKAGES: Readonly<Record<string, string>> = peerDependencies;
