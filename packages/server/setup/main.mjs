/**
 * Sets this host up: `node main.mjs` installs and compiles, `node main.mjs natives` only compiles, which an installed
 * package does not need. If something is still missing, it prints what, and still exits with 0.
 */
import process from 'node:process';
import { compileNatives, installSystemPackages } from './host.mjs';

if (process.argv[2] !== 'natives') installSystemPackages([], 'isolation and all languages');
compileNatives();
