// Waits with the interpreter loaded, then runs the one program of this cell as its main module, as `node /work/main.*` would.
'use strict';
const { closeSync, existsSync, readFileSync, renameSync, writeSync } = require('node:fs');
const Module = require('node:module');
const { compileFunction } = require('node:vm');

const WORK = process.cwd();
/** `main.js` or `main.ts`. */
const SOURCE = process.argv[2];
/** The value of a word NAME=VALUE that the cell gave its interpreter. */
const wordOf = (name) => process.argv.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
/** The module through which the program calls tools, if it may call them. */
const TOOLS = wordOf('tools');
/** Where the job's libraries go, if it has any. */
const LIBRARIES = wordOf('libraries');
/** The module that carries the state of a session, if the program is a step of one. */
const STEP = `${WORK}/input/.session/step.cjs`;
/** The parser's messages about CommonJS source with syntax that only a module may contain. */
const MODULE_ONLY =
  /^(Cannot use import statement|Unexpected token 'export'|Cannot use 'import\.meta'|await is only valid|Unexpected reserved word)/;
const WRAPPER = ['exports', 'require', 'module', '__filename', '__dirname'];

/**
 * Before a job waits, loads the parts that most programs need and that Node loads late: printing, and the TypeScript parser.
 */
function loadAhead() {
  require('node:net');
  if (LIBRARIES !== undefined) require('./unpack.cjs').prepare();
  if (SOURCE !== 'main.ts') return;
  const example = require.resolve('./example.cts');
  require(example);
  delete require.cache[example];
}

/** Returns the size of the job's JavaScript heap in MiB, and the job's arguments. Sets the job's variables. */
function waitForHandOver() {
  writeSync(4, 'r');
  closeSync(4);
  const told = readFileSync(3, 'utf8');
  closeSync(3);
  // If the input ends without a release, the process that held the program is gone.
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

/** Names the source as CommonJS if it compiles as such, else as an ES module if that may help. Node then reports any error. */
function nameSource() {
  // Node itself detects which kind of module a TypeScript file is.
  if (SOURCE === 'main.ts') return `${WORK}/${SOURCE}`;
  const source = readFileSync(`${WORK}/${SOURCE}`, 'utf8').replace(/^#!.*/, '');
  const name = `${WORK}/main.${isModule(source) ? 'mjs' : 'cjs'}`;
  renameSync(`${WORK}/${SOURCE}`, name);
  return name;
}

function isModule(source) {
  const problem = problemOf(source, `${WORK}/main.cjs`);
  if (problem === null || MODULE_ONLY.test(problem)) return problem !== null;
  // For `await` inside of an expression, the parser only says that it expected something else.
  const asAsync = problemOf(`async () => {${source}\n}`);
  return asAsync === null || MODULE_ONLY.test(asAsync);
}

/** The parser's message about CommonJS source; null if the source compiles. */
function problemOf(source, filename) {
  try {
    compileFunction(source, WRAPPER, { filename });
    return null;
  } catch (error) {
    return error.message;
  }
}

/**
 * Calls `process.exit()` once the program has nothing more to do, with the same events and exit code. When Node ends by itself,
 * it first takes the heap apart piece by piece, although the kernel then frees the heap anyway.
 */
function endAtOnce() {
  const exit = process.exit.bind(process);
  process.on('beforeExit', () => {
    // Another listener may give the program more to do.
    if (process.listenerCount('beforeExit') === 1) exit();
  });
}

/**
 * Replaces this process with one that has a heap of this size and runs the program. V8 takes the size only at its start, and the
 * memory and threads used for unpacking end here.
 */
function startAnew() {
  const tools = TOOLS === undefined ? [] : [`${TOOLS}/main.cjs`];
  const main = isStep ? [STEP, TOOLS ?? '', program] : [...tools, program];
  process.execve(process.execPath, [process.execPath, heap, ...main, ...args], process.env);
}

loadAhead();
const { heapMb, args } = waitForHandOver();
const heap = `--max-heap-size=${heapMb}`;
const program = nameSource();
const isStep = existsSync(STEP);
if (LIBRARIES !== undefined) {
  require('./unpack.cjs').offer(`${WORK}/input/.libraries.tar.gz`, LIBRARIES, WORK).then(startAnew);
} else {
  if (!process.execArgv.includes(heap)) startAnew();
  process.execArgv = [];
  process.argv = [process.argv[0], program, ...args];
  // Only for CommonJS: a module may wait for a promise that never settles. Node reports that only if it ends by itself.
  if (program.endsWith('.cjs')) endAtOnce();
  if (TOOLS !== undefined) require(TOOLS);
  if (isStep) require(STEP).begin(program);
  Module.runMain();
}
