/**
 * Starts a process with real pipes for stdin, stdout and stderr, and for its tools if it has some. Node's own `stdio: 'pipe'`
 * is a socket pair, which a program cannot open again as `/dev/stdin` or `/dev/stderr`. The child makes the pipes itself
 * (`native/stage.c`, and `pipes.pl` for a subprocess), and continues only when the service has opened its ends through
 * `/proc/PID/fd`.
 */
import { type ChildProcess, type ChildProcessWithoutNullStreams, type SpawnOptions, spawn } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { PipeInput } from './pipe-input.ts';

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const DIAGNOSTICS_CHARS_MAX = 4096;
/** The child's descriptors for the ends that the service opens through `/proc/PID/fd`; `pipes.pl` has the same numbers. */
const OURS = { stdin: 20, stdout: 21, stderr: 22, answers: 28, calls: 29 } as const;

/** Our ends of a child's standard streams. Chunks of both outputs are valid until their listener returns. */
export interface Pipes {
  readonly stdin: PipeInput;
  readonly stdout: Socket;
  readonly stderr: Socket;
  /** The pipes of a program that may call tools; null for any other. */
  readonly tools: ToolPipes | null;
  /** Resolves once the outputs and the calls were destroyed or have ended. They end when no process holds them open any more. */
  readonly drained: Promise<void>;
  destroy(): void;
}

/** Our ends of the two pipes of a program's tools. Chunks of calls are valid until their listener returns. */
export interface ToolPipes {
  readonly answers: PipeInput;
  readonly calls: Socket;
}

/** A started process. */
export interface PipedProcess {
  readonly child: ChildProcess;
  /** Rejects if the process ends before the pipes are opened. The process is then not left alive. */
  readonly pipes: Promise<Pipes>;
  /** What the process printed before it took its own ends: this explains an early end. Complete at its `close` event. */
  readonly said: () => string;
}

/**
 * Starts a program that makes pipes, and opens our ends. `extra` adds stdio entries from descriptor 3 on. The child leads its
 * own session, so signals to the service's terminal do not reach it.
 */
export function spawnWithPipes(
  command: readonly string[],
  options: Pick<SpawnOptions, 'cwd' | 'env' | 'uid' | 'gid'> & {
    readonly extra?: readonly 'pipe'[];
    readonly hasTools: boolean;
  },
): PipedProcess {
  const { extra = [], hasTools, ...rest } = options;
  const [file, ...args] = command as [string, ...string[]];
  const child = spawn(file, args, { ...rest, stdio: ['pipe', 'pipe', 'pipe', ...extra], detached: true });
  const { stdin: input, stderr: errors } = child as ChildProcessWithoutNullStreams;
  input.on('error', () => {}); // The child may have ended, and its exit reports that.
  let said = '';
  errors.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(0, DIAGNOSTICS_CHARS_MAX);
  });
  const ready = { hasTools, said: () => said.trim() };
  return { child, pipes: takeOurEnds(child, ready), said: ready.said };
}

interface Offer {
  readonly hasTools: boolean;
  readonly said: () => string;
}

async function takeOurEnds(child: ChildProcess, { hasTools, said }: Offer): Promise<Pipes> {
  const { stdin: input, stdout: output } = child as ChildProcessWithoutNullStreams;
  const end = endOf(child, said);
  await Promise.race([offered(output), end]);
  const ends = openEnds(child, hasTools) ?? (await end);
  input.end('\n');
  return streamsOf(ends);
}

/** Resolves when the child reports that its pipes exist. */
function offered(output: Readable): Promise<void> {
  return new Promise((resolve) => output.once('data', () => resolve()));
}

/** Rejects with the child's output when the child has ended. */
function endOf(child: ChildProcess, said: () => string): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  child.once('error', reject);
  child.once('close', (code, signal) => reject(new Error(said() || `the process ended (${signal ?? code})`)));
  promise.catch(() => {}); // Once the pipes are ours, no code waits for this promise.
  return promise;
}

type Ends = Readonly<Record<'stdin' | 'stdout' | 'stderr', number>> & {
  readonly tools: Readonly<Record<'answers' | 'calls', number>> | null;
};

/**
 * Opens the service's ends; null if the child has ended meanwhile. No other process can have the child's id yet: the event loop
 * reaps the child only after this function returns.
 */
function openEnds(child: ChildProcess, hasTools: boolean): Ends | null {
  if (child.exitCode !== null || child.signalCode !== null) return null;
  try {
    return openEndsOf(child.pid as number, hasTools);
  } catch (error) {
    child.kill('SIGKILL');
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Opens the pipes that a process offers at their known numbers. Throws if the process has ended or offers none. */
export function openPipesOf(pid: number, { hasTools }: { readonly hasTools: boolean }): Pipes {
  return streamsOf(openEndsOf(pid, hasTools));
}

function openEndsOf(pid: number, hasTools: boolean): Ends {
  const opened: number[] = [];
  const open = (end: number, flags: number): number => {
    opened.push(openSync(`/proc/${pid}/fd/${end}`, flags | O_NONBLOCK));
    return opened.at(-1) as number;
  };
  try {
    return {
      stdin: open(OURS.stdin, O_WRONLY),
      stdout: open(OURS.stdout, O_RDONLY),
      stderr: open(OURS.stderr, O_RDONLY),
      tools: hasTools ? { answers: open(OURS.answers, O_WRONLY), calls: open(OURS.calls, O_RDONLY) } : null,
    };
  } catch (error) {
    for (const descriptor of opened) closeSync(descriptor);
    throw error;
  }
}

function streamsOf(descriptors: Ends): Pipes {
  const stdin = new PipeInput(descriptors.stdin);
  const stdout = readInPlace(descriptors.stdout);
  const stderr = readInPlace(descriptors.stderr);
  const tools = descriptors.tools && {
    answers: new PipeInput(descriptors.tools.answers),
    // This stream flows at once, so that it also ends if the cell gets no program. Nothing arrives before the release.
    calls: readInPlace(descriptors.tools.calls).resume(),
  };
  return {
    stdin,
    stdout,
    stderr,
    tools,
    drained: Promise.all([stdout, stderr, ...(tools === null ? [] : [tools.calls])].map(closed)).then(() => undefined),
    destroy() {
      for (const end of [stdin, stdout, stderr, tools?.answers, tools?.calls]) end?.destroy();
    },
  };
}

/** The one buffer through which all pipes are read. Otherwise a flood of output would allocate a new buffer with every read. */
const passing = Buffer.alloc(64 * 1024);

/**
 * The reading end of a pipe. A chunk of its `data` event is valid until the listener returns; the next read overwrites
 * it. Without a listener the stream buffers its chunks as usual.
 */
function readInPlace(descriptor: number): Socket {
  const socket: Socket = new Socket({
    fd: descriptor,
    readable: true,
    writable: false,
    onread: {
      buffer: passing,
      callback(length, buffer) {
        const chunk = buffer.subarray(0, length);
        if (socket.readableFlowing !== true || socket.readableLength > 0) return socket.push(Buffer.from(chunk));
        socket.emit('data', chunk);
        return true;
      },
    },
  });
  return socket;
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()));
}
