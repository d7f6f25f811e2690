/**
 * Loaded into a service before the service's own code (`--import`): waits for one named step and breaks it. It finds the
 * steps at the interfaces between the service's parts, so the service itself needs no change. At a step of the store,
 * strace(1) attaches to the thread and replaces the kernel's answers to this thread from then on.
 */
import { spawn } from 'node:child_process';
import { fdatasyncSync, openSync, readlinkSync, writeSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import threads, { type WorkerOptions } from 'node:worker_threads';
import { Dispatcher } from '../../packages/server/src/job/dispatch/dispatcher.ts';
import { Signer } from '../../packages/server/src/job/sign/signer.ts';
import { ConfinedCell, LoadedConfinedCell } from '../../packages/server/src/sandbox/cell/cell.ts';
import { ConfinedCells } from '../../packages/server/src/sandbox/cell/cells.ts';
import { ProgramRun } from '../../packages/server/src/sandbox/program/program-run.ts';
import type { AdmitInput } from '../../packages/server/src/store/records/inputs.ts';
import { GroupCommit } from '../../packages/server/src/store/sqlite/threads/group-commit.ts';
import type { Call } from '../../packages/server/src/store/threads/messages.ts';
import { FAULT_VARIABLES, KERNEL_FAULTS, type KernelFault, type OtherStep } from './fault-points.ts';

const armed = {
  step: process.env[FAULT_VARIABLES.step],
  fault: process.env[FAULT_VARIABLES.fault],
  /** The file from which the test learns that the step was reached. */
  reached: openSync(process.env[FAULT_VARIABLES.reached] ?? '', 'a'),
};
/** A store command's step. In a process that breaks at `recover`, the command `finish` is the step `recover`. */
function stepOf({ name, input }: Call): string {
  if (name === 'admit' && (input as AdmitInput).start !== undefined) return 'start at once';
  return STEP_OF_COMMAND[name] ?? name;
}

const STEP_OF_COMMAND: Readonly<Record<string, string>> = {
  admit: 'admit',
  start: 'start',
  append: 'append',
  finish: armed.step === 'recover' ? 'recover' : 'finish',
  storeAttestation: 'attest',
};

let isBroken = false;

function die(): void {
  writeSync(armed.reached, 'reached\n');
  process.kill(process.pid, 'SIGKILL');
}

/** Runs before each step. Causes the fault if the fault is for this step. */
function before(step: string): void {
  if (step !== armed.step || isBroken) return;
  if (armed.fault === 'killed before') die();
  if (Object.hasOwn(KERNEL_FAULTS, armed.fault ?? '')) breakKernel(KERNEL_FAULTS[armed.fault as KernelFault]);
}

function after(step: string): void {
  if (step === armed.step && armed.fault === 'killed after') die();
}

/** Attaches strace, with the fault's answers, to this thread. Returns once strace is attached. */
function breakKernel(injection: string): void {
  isBroken = true;
  const thread = basename(readlinkSync('/proc/thread-self'));
  const words = ['-qq', '-o', '/dev/null', '-p', thread, '-e', 'trace=fsync,fdatasync,pwrite64'];
  const injections = ['-e', 'inject=fdatasync:error=EXDEV', '-e', `inject=${injection}`];
  spawn('strace', [...words, ...injections], { stdio: 'ignore', detached: true }).unref();
  while (!isTraced()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  writeSync(armed.reached, 'reached\n');
}

/** The store never calls fdatasync, so the answer to this call shows whether the tracer is attached. */
function isTraced(): boolean {
  try {
    fdatasyncSync(armed.reached);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EXDEV';
  }
}

type Method = (this: unknown, ...input: unknown[]) => unknown;

/** Replaces a method with another method that can call the original. */
function replace(target: object, name: PropertyKey, by: (original: Method) => Method): void {
  const methods = target as Record<PropertyKey, Method>;
  const original = methods[name];
  if (original === undefined) throw new Error(`the service has no ${String(name)} to break`);
  methods[name] = by(original);
}

/** Whether a client has submitted a job. Before that, only canaries run, and they take the same path as jobs. */
let hasJob = false;

/** Breaks the step that a method carries out, once a job has been submitted to the service. */
function breakMethod(prototype: object, name: PropertyKey, step: OtherStep): void {
  replace(prototype, name, (original) => {
    return function (this: unknown, ...input) {
      if (!hasJob) return original.apply(this, input);
      before(step);
      const done = original.apply(this, input);
      if (done instanceof Promise) return done.finally(() => after(step));
      after(step);
      return done;
    };
  });
}

function breakServiceThread(): void {
  replace(Dispatcher.prototype, 'admit', (admit) => {
    return function (this: unknown, ...input) {
      hasJob = true;
      return admit.apply(this, input);
    };
  });
  breakMethod(ConfinedCells.prototype, 'prepare', 'prepare');
  breakMethod(ConfinedCell.prototype, 'handOver', 'hand over');
  breakMethod(LoadedConfinedCell.prototype, 'release', 'release');
  breakMethod(ProgramRun.prototype, 'collect', 'collect');
  breakMethod(ConfinedCell.prototype, Symbol.asyncDispose, 'clean up');
  breakMethod(Signer.prototype, 'attest', 'sign');
  const { Worker } = threads;
  threads.Worker = class extends Worker {
    constructor(module: string | URL, options: WorkerOptions = {}) {
      super(module, { ...options, execArgv: ['--import', import.meta.url] });
    }
  };
  syncBuiltinESMExports();
}

function breakStoreThread(): void {
  const committing: string[] = [];
  replace(GroupCommit.prototype, 'take', (take) => {
    return function (this: unknown, waiting) {
      committing.length = 0;
      noteShifts(waiting as Call[], committing);
      return take.call(this, waiting);
    };
  });
  replace(DatabaseSync.prototype, 'prepare', (prepare) => {
    return function (this: unknown, text) {
      const statement = prepare.call(this, text);
      if (text === 'commit') breakCommit(statement as StatementSync, committing);
      return statement;
    };
  });
  replace(DatabaseSync.prototype, 'exec', (exec) => {
    return function (this: unknown, text) {
      const isOpening = String(text).includes('journal_mode');
      if (isOpening) before('open');
      exec.call(this, text);
      if (isOpening) after('open');
    };
  });
}

/** Notes the step of each call that leaves the front of the queue and thus belongs to the open transaction. */
function noteShifts(waiting: Call[], committing: string[]): void {
  waiting.shift = () => {
    const call: Call | undefined = Array.prototype.shift.call(waiting);
    if (call !== undefined) committing.push(stepOf(call));
    return call;
  };
}

function breakCommit(commit: StatementSync, committing: readonly string[]): void {
  replace(commit, 'run', (run) => {
    return () => {
      for (const step of committing) before(step);
      const done = run.call(commit);
      for (const step of committing) after(step);
      return done;
    };
  });
}

if (threads.isMainThread) breakServiceThread();
else breakStoreThread();
