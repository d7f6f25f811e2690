/**
 * Sets this host up: `node main.mjs` installs and compiles, `node main.mjs natives` compiles alone. It exits 0 also where
 * something is still missing: what that is was printed.
 */
import process from 'node:process';
import { compileNatives, installSystemPackages } from './host.mjs';

if (process.argv[2] !== 'natives') installSystemPackages([], 'isolation and all languages');
compileNatives();
