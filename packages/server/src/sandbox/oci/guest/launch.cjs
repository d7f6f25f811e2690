// Waits with the interpreter up, then runs the one program of this cell as its main module, as `node /work/main.*` would.
'use strict';
const { closeSync, readFileSync, renameSync, writeSync } = require('node:fs');
const Module = require('node:module');
const { compileFunction } = require('node:vm');

const WORK = process.cwd();
/** `main.js` or `main.ts`. */
const SOURCE = process.argv[2];
/** What the parser says of CommonJS source that only a module may contain. */
const MODULE_ONLY =
  /^(Cannot use import statement|Unexpected token 'export'|Cannot use 'import\.meta'|await is only valid|Unexpected reserved word)/;
const WRAPPER = ['exports', 'require', 'module', '__filename', '__dirname'];

/** Loads what Node loads late and most programs need, while nobody waits for it: what prints, and what reads TypeScript. */
function loadAhead() {
  require('node:net');
  if (SOURCE !== 'main.ts') return;
  const example = require.resolve('./example.cts');
  require(example);
  delete require.cache[example];
}

/** What the job's JavaScript heap may have, in MiB, and its arguments. Its variables are set. */
function waitForHandOver() {
  writeSync(4, 'r');
  closeSync(4);
  const told = readFileSync(3, 'utf8');
  closeSync(3);
  // An end without a word is not a release: the process that held the program is gone.
  if (told === '') process.exit(125);
  const [line] = told.split('\n', 1);
  const [heapMb, count] = line.split(' ').map(Number);
  const words = told.slice(line.length + 1).split('\0');
  for (const variable of words.slice(count, -1)) {
    const at = variable.indexOf('=');
    process.env[variable.slice(0, at)] = variable.slice(at + 1);
  }
  return { heapMb, args: words.slice(0, count) };
}

/** CommonJS wherever it compiles as that; else an ES module, whose loader then reports what is wrong with it. */
function nameSource() {
  // Node itself tells which kind of module a TypeScript file is.
  if (SOURCE === 'main.ts') return `${WORK}/${SOURCE}`;
  const source = readFileSync(`${WORK}/${SOURCE}`, 'utf8');
  let name = `${WORK}/main.cjs`;
  try {
    compileFunction(source.replace(/^#!.*/, ''), WRAPPER, { filename: name });
  } catch (error) {
    if (MODULE_ONLY.test(error.message)) name = `${WORK}/main.mjs`;
  }
  renameSync(`${WORK}/${SOURCE}`, name);
  return name;
}

/**
 * A program that has nothing more to do ends as by `process.exit()`, with the same events and exit code. At an end of its own
 * Node takes the heap apart first, piece by piece, and the kernel then frees it once more.
 */
function endAtOnce() {
  const exit = process.exit.bind(process);
  process.on('beforeExit', () => {
    // Another listener may give it more to do.
    if (process.listenerCount('beforeExit') === 1) exit();
  });
}

loadAhead();
const { heapMb, args } = waitForHandOver();
const heap = `--max-heap-size=${heapMb}`;
const program = nameSource();
// V8 takes the size of its heap at its start alone: another size than this process was given needs a new one.
if (!process.execArgv.includes(heap))
  process.execve(process.execPath, [process.execPath, heap, program, ...args], process.env);
process.execArgv = [];
process.argv = [process.argv[0], program, ...args];
// Only CommonJS: a module may wait for what never comes, of which Node tells at an end of its own.
if (program.endsWith('.cjs')) endAtOnce();
Module.runMain();
