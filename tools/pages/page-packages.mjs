/** Which packages are pages, and where they are built. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = fileURLToPath(new URL('../../packages', import.meta.url));

/** The directory of the built pages, each in a folder. `http/pages` finds them here, even in a published server. */
export const builtPages = join(packages, 'server/pages');

/**
 * The folders of the packages that are built into pages and not published as packages.
 * @returns {readonly string[]}
 */
export function pagePackages() {
  return readdirSync(packages).filter((folder) => existsSync(join(packages, folder, 'vite.config.ts')));
}
