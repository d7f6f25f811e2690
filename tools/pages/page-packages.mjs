/** Which packages are pages, and where they are built. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = fileURLToPath(new URL('../../packages', import.meta.url));

/** `http/pages` of the server looks for a folder here for each page. It is part of the published server. */
export const builtPages = join(packages, 'server/pages');

/**
 * The folders of the packages that are built to pages and not published on their own.
 * @returns {readonly string[]}
 */
export function pagePackages() {
  return readdirSync(packages).filter((folder) => existsSync(join(packages, folder, 'vite.config.ts')));
}
