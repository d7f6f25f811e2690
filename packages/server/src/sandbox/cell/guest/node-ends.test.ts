/** A Node program ends in a cell as under `node` alone: it does and prints the same, and has the same exit code. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';

const HEAP = '--max-heap-size=160';

const ENDS: Readonly<Record<string, string>> = {
  'has nothing more to do': 'console.log("done");',
  'sets its exit code': 'process.exitCode = 7;',
  'exits by itself': 'process.on("exit", (code) => console.log(code)); process.exit(3);',
  'sets its exit code as it exits': 'process.on("exit", () => { process.exitCode = 4; });',
  'listens to exit and beforeExit': `
    process.on("exit", (code) => console.log("exit", code, process.exitCode));
    process.on("beforeExit", (code) => console.log("before", code));`,
  'starts more work before it exits, once': `
    process.once("beforeExit", () => setTimeout(() => console.log("more"), 1));
    process.on("exit", () => console.log("exit"));`,
  'starts more work before it exits, three times': `
    let left = 3;
    process.on("beforeExit", () => { if (left-- > 0) setImmediate(() => console.log(left)); });`,
  'removes its listeners': `
    process.on("beforeExit", () => console.log("no"));
    process.removeAllListeners("beforeExit");
    process.on("exit", () => console.log("exit"));`,
  'fails as it exits': 'process.on("exit", () => { throw new Error("late"); });',
  'fails before it exits': 'process.on("beforeExit", () => { throw new Error("late"); });',
  'replaces process.exit': `
    process.exit = () => console.log("not asked for");
    process.on("exit", () => console.log("exit"));`,
  'fails late': 'setTimeout(() => { throw new TypeError("in a timer"); }, 1);',
  'rejects a promise that nobody handles': 'Promise.reject(new Error("unseen"));',
  'has only a timer that keeps no process alive': 'setInterval(() => console.log("no"), 10_000).unref();',
  'waits for a promise that never settles': 'new Promise(() => {}).then(() => console.log("no"));',
  'has a worker that nobody waits for': `
    const { Worker } = require("node:worker_threads");
    const worker = new Worker("setInterval(() => {}, 1000); postMessage(1)", { eval: true });
    worker.once("message", () => worker.unref());`,
  'is a module that awaits a promise that never settles': 'await new Promise(() => {});',
  'is a module by an await inside of an expression': 'console.log(await 1, [await 2]);',
  'is a module by an import after such an await': 'console.log(await 1); import { argv } from "node:process";',
  'has neither the syntax of a script nor of a module': 'console.log(1; await 2',
  'is a module': 'import { argv } from "node:process"; console.log(argv.length); process.exitCode = 5;',
  'prints a lot': 'for (let line = 0; line < 20000; line++) console.log("line", line);',
};

let work: string;
beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), 'svc-node-ends-'));
  mkdirSync(join(work, 'bare'));
});
afterAll(() => rmSync(work, { recursive: true }));

async function end(words: readonly string[], isTold: boolean) {
  const stdio = ['ignore', 'pipe', 'pipe', ...(isTold ? (['pipe', 'pipe'] as const) : [])] as const;
  const child = spawn(process.execPath, [HEAP, ...words], { cwd: work, stdio: [...stdio] });
  if (isTold) (child.stdio[3] as Writable).end('160 0\n');
  const [stdout, stderr, [exitCode, signal]] = await Promise.all([
    text(child.stdout as Readable),
    text(child.stderr as Readable),
    once(child, 'close'),
  ]);
  return { stdout, failure: /^\w*Error.*|^Warning.*/m.exec(stderr)?.[0].replace('/bare/', '/'), exitCode, signal };
}

test.each(Object.keys(ENDS))('a Node program that %s ends as under plain node', async (title) => {
  const source = ENDS[title] as string;
  const isModule = title.includes('is a module');
  const bare = join(work, 'bare', isModule ? 'main.mjs' : 'main.cjs');
  writeFileSync(bare, source);
  writeFileSync(join(work, 'main.js'), source);
  const launched = await end([join(import.meta.dirname, 'launch.cjs'), 'main.js'], true);
  expect(launched).toEqual(await end([bare], false));
});
