// The module `tools` of a program that may call tools: `await tools.search({ query: '…' })`. The name is there without an import,
// too. Anything that writes and reads the same lines can do the same.
'use strict';
const { writeSync } = require('node:fs');
const { isMainThread } = require('node:worker_threads');

const ANSWERS = 30;
const CALLS = 31;
const NEWLINE = 0x0a;
/** The service's bounds on one line, less what the line's own object and members take. */
const LEVELS_MAX = 31;
const TOKENS_MAX = 20_000 - 6;
/** Names that JavaScript itself looks up, such as when an object is awaited or printed. */
const IMPLICIT = new Set(['then', 'toJSON', 'toString', 'valueOf']);

class ToolError extends Error {
  /** A tool failed, or may not be called in this way. `tool` is the tool's name. */
  constructor(message, tool) {
    super(message);
    this.tool = tool;
  }
}
Object.defineProperty(ToolError.prototype, 'name', { value: 'ToolError', configurable: true, writable: true });

/** The functions that wait for the answers to open calls, by number. */
const open = new Map();
let number = 0;
let reader = null;

/** Answers are read only while calls are open, so that a program that waits for nothing else ends. */
function listen() {
  if (reader === null) reader = openReader();
  else if (!reader.isPaused()) return;
  reader.ref();
  reader.resume();
}

function openReader() {
  const { Socket } = require('node:net');
  let parts = [];
  const take = (length, buffer) => {
    const chunk = Buffer.from(buffer.subarray(0, length));
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      settle(JSON.parse(Buffer.concat([...parts, chunk.subarray(from, at)]).toString()));
      parts = [];
      from = at + 1;
    }
    if (from < length) parts.push(chunk.subarray(from));
    return true;
  };
  const onread = { buffer: Buffer.alloc(65_536), callback: take };
  const socket = new Socket({ fd: ANSWERS, readable: true, writable: false, onread });
  const lose = () => {
    for (const call of open.keys()) settle({ call, error: 'no more answers come' });
  };
  return socket.on('error', lose).on('close', lose);
}

function settle({ call, ...outcome }) {
  open.get(call)?.(outcome);
  open.delete(call);
  // Later than the code that the answer lets continue: that code may call again, and pausing first would take longer.
  if (open.size === 0) queueMicrotask(() => process.nextTick(rest));
}

function rest() {
  if (open.size > 0) return;
  reader.pause();
  reader.unref();
}

function send(tool, given) {
  if (!isMainThread) throw new Error('tools are called from the main thread');
  const text = checkedTextOf(given);
  number += 1;
  const call = number;
  writeWhole(Buffer.from(`{"call": ${call}, "tool": ${JSON.stringify(tool)}, "arguments": ${text}}\n`));
  const { promise, resolve } = Promise.withResolvers();
  open.set(call, resolve);
  listen();
  return promise;
}

/** gVisor may accept only a part of a long write. */
function writeWhole(bytes) {
  for (let at = 0; at < bytes.length; at += writeSync(CALLS, bytes, at));
}

/** The value as JSON. Throws if the service would end the program for it. */
function checkedTextOf(given) {
  const text = JSON.stringify(given);
  if (text === undefined) throw new TypeError(`the arguments of a tool are JSON, and not a ${typeof given}`);
  let tokens = 0;
  const check = (value, level) => {
    tokens += 1;
    if (typeof value === 'string') checkString(value);
    if (typeof value !== 'object' || value === null) return;
    if (level === LEVELS_MAX) throw new RangeError(`the arguments of a tool nest deeper than ${LEVELS_MAX} levels`);
    for (const [name, member] of Object.entries(value)) {
      if (!Array.isArray(value)) {
        tokens += 1;
        checkString(name);
      }
      check(member, level + 1);
    }
  };
  check(JSON.parse(text), 0);
  if (tokens > TOKENS_MAX)
    throw new RangeError(`the arguments of a tool have more than ${TOKENS_MAX} names and values`);
  return text;
}

function checkString(text) {
  if (!text.isWellFormed()) throw new TypeError('a string in the arguments of a tool has a lone surrogate');
}

async function call(tool, given) {
  const outcome = await send(tool, given);
  if ('error' in outcome) throw new ToolError(outcome.error, tool);
  return outcome.result;
}

const own = Object.assign(Object.create(null), { ToolError });
const tools = new Proxy(own, {
  get(target, name) {
    if (typeof name === 'symbol' || name in target || IMPLICIT.has(name)) return target[name];
    return (given = {}) => call(name, given);
  },
});
// Node reads this for the names that a module may import.
exports.ToolError = ToolError;
module.exports = tools;
if (isMainThread)
  Object.defineProperty(globalThis, 'tools', { value: tools, configurable: true, writable: true, enumerable: false });
