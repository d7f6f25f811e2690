// Waits with the interpreter up, then runs the one program of this cell as its main module, as `node /work/main.*` would.
'use strict';
const { closeSync, readFileSync, readSync, renameSync, writeSync } = require('node:fs');
const Module = require('node:module');
const { compileFunction } = require('node:vm');

const WORK = process.cwd();
/** What the parser says of CommonJS source that only a module may contain. */
const MODULE_ONLY =
  /^(Cannot use import statement|Unexpected token 'export'|Cannot use 'import\.meta'|await is only valid|Unexpected reserved word)/;
const WRAPPER = ['exports', 'require', 'module', '__filename', '__dirname'];

/** What the job's JavaScript heap may have, in MiB. */
function waitForHandOver() {
  writeSync(4, 'r');
  closeSync(4);
  const line = Buffer.alloc(64);
  const length = readSync(3, line);
  closeSync(3);
  // An end without a word is no release: whoever held the program is gone.
  if (length === 0) process.exit(125);
  return Number(line.toString('latin1', 0, length));
}

/** CommonJS wherever it compiles as that; else an ES module, whose loader then reports what is wrong with it. */
function nameSource() {
  const source = readFileSync(`${WORK}/main.js`, 'utf8');
  let name = `${WORK}/main.cjs`;
  try {
    compileFunction(source.replace(/^#!.*/, ''), WRAPPER, { filename: name });
  } catch (error) {
    if (MODULE_ONLY.test(error.message)) name = `${WORK}/main.mjs`;
  }
  renameSync(`${WORK}/main.js`, name);
  return name;
}

const heap = `--max-heap-size=${waitForHandOver()}`;
const program = nameSource();
// V8 takes the size of its heap at its start alone: another size than this process was given needs a new one.
if (!process.execArgv.includes(heap)) process.execve(process.execPath, [process.execPath, heap, program], process.env);
process.execArgv = [];
process.argv = [process.argv[0], program];
Module.runMain();
