// Waits with the interpreter up, then runs the one program of this cell as its main module, as `node /work/main.*` would.
'use strict';
const { closeSync, readFileSync, readSync, renameSync, writeSync } = require('node:fs');
const Module = require('node:module');
const { compileFunction } = require('node:vm');

/** The heap that was given at start; another memory limit needs another heap, and so a new start. */
const HEAP_MB = Number(/--max-old-space-size=(\d+)/.exec(process.execArgv.join(' '))[1]);
const WORK = process.cwd();
/** What the parser says of CommonJS source that only a module may contain. */
const MODULE_ONLY =
  /^(Cannot use import statement|Unexpected token 'export'|Cannot use 'import\.meta'|await is only valid|Unexpected reserved word)/;
const WRAPPER = ['exports', 'require', 'module', '__filename', '__dirname'];

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

/** Beside its JavaScript heap Node needs room for itself: code, stacks, buffers. */
function heapFor(memMb) {
  return Math.max(16, memMb - 64);
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

const memMb = waitForHandOver();
const program = nameSource();
if (heapFor(memMb) !== HEAP_MB) {
  process.execve(process.execPath, [process.execPath, `--max-old-space-size=${heapFor(memMb)}`, program], process.env);
}
process.execArgv = [];
process.argv = [process.argv[0], program];
Module.runMain();
