// Carries the state of a session from one program to the next: loads it before the program, and keeps it when the program ends
// with the exit code 0. Only cells read a state.
'use strict';
const fs = require('node:fs');
const { basename, dirname, join } = require('node:path');
const { deserialize, serialize } = require('node:v8');

const MAGIC = 'session state 1 javascript\n';
const BYTES_MAX = 64 * 1024 * 1024;
const TOLD_MAX = 256;
const CHARS_MAX = 200;
const WORK = dirname(dirname(__dirname));
const OWN = join(WORK, 'output', '.session');

/** Every byte of a path as a character, so that any path can be written. */
const coded = (path) => encodeURIComponent(path.toString('latin1'));
const decoded = (text) => Buffer.from(decodeURIComponent(text), 'latin1');
const below = (path) => Buffer.concat([Buffer.from(`${WORK}/`), path]);

function told(error) {
  return `${error?.name ?? 'Error'}: ${error?.message ?? error}`.slice(0, CHARS_MAX);
}

/** The bytes to keep, which never exceed the bound. */
class Bounded {
  parts = [];
  #size = 0;

  write(part) {
    const bytes = Buffer.from(part);
    this.#size += bytes.length;
    if (this.#size > BYTES_MAX) throw new RangeError(`the state has more than ${BYTES_MAX} bytes`);
    this.parts.push(bytes);
  }
}

/** @throws if a kept path would lie where this step has its libraries */
function checkPlace(path) {
  if (path.toString('latin1') !== 'node_modules' || fs.lstatSync(below(path), { throwIfNoEntry: false }) === undefined)
    return;
  throw new Error(
    'it has a node_modules, and this step has libraries: run it without, or remove that in a step without libraries',
  );
}

/** Whether the entry is the link to the libraries of this step: the next step may have others, or none. */
function isOfLibraries(path, entry) {
  const name = path.toString('latin1');
  return (
    name === 'node_modules' &&
    entry.isSymbolicLink() &&
    fs.readlinkSync(below(path)).endsWith('/libraries/node_modules')
  );
}

/** The paths of `/work` that are kept, as bytes, parents first. `own` has the service's own paths. */
function* filesBelow(own, directory = Buffer.alloc(0)) {
  const found = fs.readdirSync(below(directory), { withFileTypes: true, encoding: 'buffer' });
  for (const entry of found.toSorted((one, other) => Buffer.compare(one.name, other.name))) {
    const path = directory.length === 0 ? entry.name : Buffer.concat([directory, Buffer.from('/'), entry.name]);
    if (own.has(path.toString('latin1')) || isOfLibraries(path, entry)) continue;
    yield path;
    if (entry.isDirectory()) yield* filesBelow(own, path);
  }
}

function writeFile(out, path) {
  const stats = fs.lstatSync(below(path));
  const mode = (stats.mode & 0o7777).toString(8);
  if (stats.isSymbolicLink()) {
    out.write(`link ${coded(fs.readlinkSync(below(path), 'buffer'))} ${coded(path)}\n`);
  } else if (stats.isDirectory()) {
    out.write(`directory ${mode} ${coded(path)}\n`);
  } else if (stats.isFile()) {
    if (stats.size > BYTES_MAX) throw new RangeError(`the state has more than ${BYTES_MAX} bytes`);
    const content = fs.readFileSync(below(path));
    out.write(`file ${mode} ${content.length} ${coded(path)}\n`);
    out.write(content);
  } else {
    throw new TypeError('it is no file, directory or link');
  }
}

function writeFiles(out, program) {
  const own = new Set(['input', 'output/.session', basename(program)]);
  const leftOut = new Map();
  let count = 0;
  for (const path of filesBelow(own)) {
    try {
      writeFile(out, path);
      count += 1;
    } catch (error) {
      if (error instanceof RangeError) throw error;
      leftOut.set(path.toString(), told(error));
    }
  }
  return { count, leftOut };
}

/** The properties that the program set and that structured clone accepts, and for each other property the reason against it. */
function keptGlobals(before) {
  const leftOut = new Map();
  const values = [];
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    if (before.has(name)) continue;
    const property = Object.getOwnPropertyDescriptor(globalThis, name);
    if ('value' in property) values.push([name, property.value]);
    else leftOut.set(name, 'TypeError: it is an accessor');
  }
  try {
    return { values, bytes: serialize(values), leftOut };
  } catch {}
  const kept = values.filter(([name, value]) => {
    try {
      serialize(value);
      return true;
    } catch (error) {
      leftOut.set(name, told(error));
      return false;
    }
  });
  return { values: kept, bytes: serialize(kept), leftOut };
}

function wholeState(before, program) {
  const out = new Bounded();
  out.write(MAGIC);
  const files = writeFiles(out, program);
  const globals = keptGlobals(before);
  out.write(`values ${globals.bytes.length}\n`);
  out.write(globals.bytes);
  const kinds = [
    ['global', globals.leftOut],
    ['file', files.leftOut],
  ];
  const notKept = kinds.flatMap(([kind, names]) =>
    Array.from(names, ([name, reason]) => ({ kind, name: name.slice(0, CHARS_MAX), reason })),
  );
  const report = {
    globals: globals.values.length,
    files: files.count,
    not_kept: notKept.slice(0, TOLD_MAX),
    more_not_kept: Math.max(0, notKept.length - TOLD_MAX),
  };
  return { parts: out.parts, report };
}

function readState(path) {
  const state = fs.readFileSync(path);
  if (!state.subarray(0, MAGIC.length).equals(Buffer.from(MAGIC)))
    throw new TypeError('it is no state of a JavaScript session');
  const modes = [];
  for (let at = MAGIC.length; at < state.length; ) {
    const end = state.indexOf(0x0a, at);
    const [kind, first, ...words] = state.toString('latin1', at, end).split(' ');
    at = end + 1;
    const size = kind === 'values' ? Number(first) : kind === 'file' ? Number(words[0]) : 0;
    const content = state.subarray(at, at + size);
    at += size;
    if (kind === 'values') {
      for (const [name, value] of deserialize(content))
        Object.defineProperty(globalThis, name, { value, writable: true, enumerable: true, configurable: true });
      continue;
    }
    const path = decoded(words.at(-1));
    checkPlace(path);
    const place = below(path);
    if (kind === 'link') {
      fs.symlinkSync(decoded(first), place);
      continue;
    }
    if (kind === 'directory') fs.mkdirSync(place, { recursive: true });
    else fs.writeFileSync(place, content, { flag: 'wx' });
    modes.push([place, Number.parseInt(first, 8)]);
  }
  for (const [place, mode] of modes.toReversed()) fs.chmodSync(place, mode);
}

function keep(before, program) {
  fs.mkdirSync(OWN, { recursive: true });
  let report;
  try {
    const whole = wholeState(before, program);
    report = whole.report;
    const file = fs.openSync(join(OWN, 'state'), 'w');
    for (const part of whole.parts) fs.writeFileSync(file, part);
    fs.closeSync(file);
  } catch (error) {
    fs.rmSync(join(OWN, 'state'), { force: true });
    report = { problem: told(error) };
    fs.writeSync(2, `The state of the session cannot be kept: ${told(error)}\n`);
  }
  fs.writeFileSync(join(OWN, 'kept.json'), JSON.stringify(report));
}

exports.begin = (program) => {
  const before = new Set(Object.getOwnPropertyNames(globalThis));
  const state = join(__dirname, 'state');
  try {
    if (fs.existsSync(state)) readState(state);
  } catch (error) {
    fs.writeSync(2, `The state of the session cannot be loaded: ${told(error)}\n`);
    process.exit(1);
  }
  process.on('exit', (code) => {
    if (code === 0) keep(before, program);
  });
};

// A new process, needed for another heap size, gets this file, the module for tools (if any) and the program.
if (require.main === module) {
  const [, tools] = process.argv.splice(1, 2);
  if (tools !== '') require(tools);
  exports.begin(process.argv[1]);
  require('node:module').runMain();
}
