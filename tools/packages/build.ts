/** `npm run build`: writes the published packages to dist/packages, and says how large each is. */
import { join } from 'node:path';
import process from 'node:process';
import { buildPackages } from './build-packages.ts';

const directory = join(import.meta.dirname, '../../dist/packages');
for (const built of await buildPackages(directory)) {
  process.stdout.write(`${built.name} ${built.version}: ${built.directory}\n`);
}
