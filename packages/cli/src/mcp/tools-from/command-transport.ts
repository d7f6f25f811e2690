/**
 * A shell command that serves MCP over stdio. Every process that the command started ends with the command: a process that
 * went on would hold our pipes open. The library's own transport ends only one process.
 */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type JSONRPCMessage, ReadBuffer, type Transport } from '@modelcontextprotocol/client';
import { printableText } from '@vouchbox/protocol/vocabulary';
import { endCommand, startCommand } from '../../service/foreign-command.ts';

/** How long the command may take to end after its stdin has ended, and then after SIGTERM. */
const endMilliseconds = 2000;

export class CommandTransport implements Transport {
  onmessage?: NonNullable<Transport['onmessage']>;
  onerror?: NonNullable<Transport['onerror']>;
  onclose?: NonNullable<Transport['onclose']>;
  readonly #command: string;
  /** Throws if a message is too large. */
  readonly #buffer = new ReadBuffer();
  readonly #exited = Promise.withResolvers<'exited'>();
  #child: ChildProcessWithoutNullStreams | null = null;

  constructor(command: string) {
    this.#command = command;
  }

  async start(): Promise<void> {
    const child = startCommand(this.#command);
    this.#child = child;
    child.stdin.on('error', (error) => this.onerror?.(error));
    child.stdout.on('data', (chunk: Buffer) => this.#take(chunk));
    child.stderr.on('data', (chunk: Buffer) => process.stderr.write(printableText(chunk.toString())));
    child.once('exit', () => this.#exited.resolve('exited'));
    child.once('close', () => this.onclose?.());
    await once(child, 'spawn');
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#child === null) throw new Error('the command has ended');
    // Nobody waits for the write: few calls are open at once, and `onerror` and `onclose` report that the command has ended.
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    this.#child = null;
    child.stdin.end();
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const waited = await Promise.race([this.#exited.promise, sleep(endMilliseconds, 'late', { ref: false })]);
      if (waited === 'late') endCommand(child, signal);
    }
    // A process that `endCommand` did not find may still hold the pipes open.
    child.stdout.destroy();
    child.stderr.destroy();
  }

  #take(chunk: Buffer): void {
    try {
      this.#buffer.append(chunk);
    } catch (error) {
      this.onerror?.(error as Error);
      void this.close();
      return;
    }
    while (this.#readOne());
  }

  /** Reads one message. Returns false if no whole message is left. Reports and skips a line that is not a message. */
  #readOne(): boolean {
    try {
      const message = this.#buffer.readMessage();
      if (message !== null) this.onmessage?.(message);
      return message !== null;
    } catch (error) {
      this.onerror?.(error as Error);
      return true;
    }
  }
}
