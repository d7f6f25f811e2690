/**
 * Sets this host up: `node main.mjs` installs and compiles, `node main.mjs natives` only compiles, which an installed
 * package does not need. If something is still missing, this script names it, and exits with 0 nevertheless.
 */
import process from 'node:process';
import { compileNatives, installSystemPackages } from './host.mjs';

if (process.argv[2] !== 'natives') installSystemPackages([], 'isolation and all languages');
compileNatives();
