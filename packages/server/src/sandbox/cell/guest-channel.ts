/**
 * The protocol with process 1 of a cell, on the pipes that the program uses later. It ends with the release: from then
 * on, every byte is the program's.
 */
import type { Socket } from 'node:net';
import { endWithText } from '../program/output/fed-input.ts';
import type { PipeInput } from '../program/output/pipe-input.ts';
import { compilerWords, type Released, releaseWords } from '../program/release-words.ts';
import type { Program } from '../sandbox.ts';
import { limitRows, type ProcessLimits, parseLimitRows } from './process-limits.ts';

const DIAGNOSTICS_CHARS_MAX = 4096;
const REPORT_BYTES_MAX = 256 * 1024;

/** The length of a line to process 1: `ORDER_BYTES` in `launcher.h`. */
const ORDER_BYTES = 256;

interface Streams {
  readonly stdin: PipeInput;
  readonly stdout: Socket;
  readonly stderr: Socket;
}

export class GuestChannel {
  readonly #streams: Streams;
  #received = Buffer.alloc(0);
  #diagnostics = '';
  #failure: Error | null = null;
  #wake: () => void = () => {};

  constructor(streams: Streams) {
    this.#streams = streams;
    streams.stdout.on('data', this.#receive).on('error', this.#fail).on('end', this.#ended);
    streams.stderr.on('data', this.#diagnose).on('error', this.#fail);
  }

  /** The output of the runtime or of process 1 before the release, for the operator. */
  get diagnostics(): string {
    return this.#diagnostics.trim();
  }

  /** Ends the protocol: the pending step and every later one reject with this reason. */
  abort(reason: Error): void {
    this.#failure ??= reason;
    this.#wake();
  }

  /** The report from process 1. Resolves at the workload-ready boundary, when the interpreter waits. */
  async report(): Promise<string> {
    const [, length] = (await this.#line()).match(/^ready (\d+)$/) ?? [];
    if (length === undefined || Number(length) > REPORT_BYTES_MAX) throw new Error('the cell sent no report');
    return (await this.#bytes(Number(length))).toString();
  }

  /**
   * Sets the limits on the interpreter and resolves to those that the kernel then reports. `shownBytes` is the memory
   * limit that the cell shows to its program; null if it shows none.
   */
  async limit(limits: ProcessLimits, shownBytes: number | null): Promise<ProcessLimits> {
    this.#send(`limits ${limitRows(limits)}${shownBytes === null ? '' : ` shown ${shownBytes}`}`);
    const answer = await this.#line();
    return parseLimitRows(answer.startsWith('limits ') ? answer : '');
  }

  /**
   * Lets the program run with its arguments, its variables and its stdin. The stdin stays open if it comes in pieces or from
   * another program. After the release, this channel reads no output. `heapMb` is used only for Node and Java.
   */
  release(program: Released & Pick<Program, 'stdin' | 'interaction' | 'compilerOptions'>, heapMb: number): void {
    const { stdout, stderr, stdin: input } = this.#streams;
    stdout.off('data', this.#receive).off('end', this.#ended).off('error', this.#fail);
    stderr.off('data', this.#diagnose).off('error', this.#fail);
    const { argumentCount, bytes } = releaseWords(program);
    const { count, bytes: options } = compilerWords(program);
    const run = `run ${bytes.byteLength} ${argumentCount} ${heapMb} ${options.byteLength} ${count}`;
    input.write(Buffer.concat([Buffer.from(lineOf(run)), options, bytes]));
    endWithText(program, input);
  }

  #send(line: string): void {
    this.#streams.stdin.write(lineOf(line));
  }

  async #line(): Promise<string> {
    for (;;) {
      const end = this.#received.indexOf(0x0a);
      if (end >= 0) {
        const line = this.#received.toString('latin1', 0, end);
        this.#received = this.#received.subarray(end + 1);
        return line;
      }
      await this.#more();
    }
  }

  async #bytes(length: number): Promise<Buffer> {
    while (this.#received.byteLength < length) await this.#more();
    const bytes = this.#received.subarray(0, length);
    this.#received = this.#received.subarray(length);
    return bytes;
  }

  async #more(): Promise<void> {
    if (this.#failure) throw this.#failure;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    if (this.#failure) throw this.#failure;
  }

  readonly #receive = (chunk: Buffer): void => {
    this.#received = Buffer.concat([this.#received, chunk]);
    if (this.#received.byteLength > 2 * REPORT_BYTES_MAX) this.abort(new Error('the cell sent too much'));
    this.#wake();
  };

  readonly #diagnose = (chunk: Buffer): void => {
    this.#diagnostics = (this.#diagnostics + chunk.toString()).slice(0, DIAGNOSTICS_CHARS_MAX);
  };

  readonly #fail = (error: Error): void => this.abort(error);
  readonly #ended = (): void => this.abort(new Error('the cell ended before it was ready'));
}

function lineOf(words: string): string {
  return `${words.padEnd(ORDER_BYTES - 1)}\n`;
}
