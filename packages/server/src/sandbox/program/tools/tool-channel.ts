/**
 * The two pipes of a program that may call tools: one JSON text per line. The service, outside of the cell, decides what a call
 * means, who answers it and what is kept of it. A program that floods, writes something else, or never reads its answers harms
 * only itself: the service holds no more of its data than the bounds allow.
 *
 * it writes  `{"call": 1, "tool": "search", "arguments": {"query": "…"}}`
 *   it reads   `{"call":1,"result":…}` or `{"call":1,"error":"…"}`
 */
import { JsonProblem, JsonScan } from '@vouchbox/evidence';
import type { Violation } from '@vouchbox/protocol';
import type { ProgramTools, ToolCall, ToolOutcome } from '../../sandbox.ts';
import type { ToolPipes } from '../output/pipes.ts';

/** The most names, numbers and brackets of one call. */
const TOKENS_MAX = 20_000;
const NEWLINE = 0x0a;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class ToolChannel {
  readonly #tools: ProgramTools;
  readonly #pipes: ToolPipes;
  readonly #end: () => void;
  #parts: Buffer[] = [];
  #partBytes = 0;
  #calls = 0;
  #answers = 0;
  #bytes = 0;
  /** Whether no more lines are taken, because a bound was passed or the program has ended. */
  #isOver = false;
  #violation: Violation | null = null;

  /** `end` ends the program. */
  constructor(tools: ProgramTools, pipes: ToolPipes, end: () => void) {
    this.#tools = tools;
    this.#pipes = pipes;
    this.#end = end;
    pipes.calls.on('data', (chunk: Buffer) => this.#take(chunk)).on('error', () => {});
    tools.begin((call, outcome) => this.#answer(call, outcome));
  }

  /** How many calls were not answered yet. */
  get callsOpen(): number {
    return this.#calls - this.#answers;
  }

  /** Called when the program has ended and all its calls were read. Returns the violation of a bound; null if there is none. */
  over(): Violation | null {
    this.#isOver = true;
    this.#pipes.answers.destroy();
    return this.#violation;
  }

  #answer(call: number, outcome: ToolOutcome): void {
    if (this.#isOver) return;
    this.#answers += 1;
    this.#pipes.answers.write(`${JSON.stringify({ call, ...outcome })}\n`);
  }

  #take(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0 && !this.#isOver; at = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, at));
      from = at + 1;
      if (!this.#isOver) this.#takeLine();
    }
    if (!this.#isOver) this.#keep(chunk.subarray(from));
  }

  /** Keeps a part of a line. The chunk is valid only during this call. */
  #keep(part: Buffer): void {
    const { call_bytes } = this.#tools.limits;
    this.#partBytes += part.byteLength;
    if (this.#partBytes > call_bytes) {
      this.#breach('tool_call_size', `a call of a tool had more than ${call_bytes} bytes`, call_bytes);
    } else if (part.byteLength > 0) this.#parts.push(Buffer.from(part));
  }

  #takeLine(): void {
    const { calls, total_bytes } = this.#tools.limits;
    const line = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#partBytes = 0;
    this.#bytes += line.byteLength;
    this.#calls += 1;
    const call = callIn(line);
    if (this.#calls > calls) this.#breach('tool_calls', `more than ${calls} calls of tools were made`, calls);
    else if (this.#bytes > total_bytes)
      this.#breach('tool_total_size', `its calls of tools had more than ${total_bytes} bytes`, total_bytes);
    else if (typeof call === 'string')
      this.#breach('tool_protocol', `line ${this.#calls} of its calls of tools ${call}`);
    else this.#tools.called(call);
  }

  #breach(type: Violation['type'], message: string, limit?: number): void {
    this.#isOver = true;
    this.#parts = [];
    this.#violation = { type, message, ...(limit !== undefined && { limit }) };
    this.#end();
  }
}

/** The call in a line, or the fault in the line. */
function callIn(line: Buffer): ToolCall | string {
  const value = parsed(line);
  if (typeof value === 'string') return value;
  const { call, tool, arguments: given = {}, ...others } = value;
  if (!Number.isSafeInteger(call) || (call as number) < 0) return 'has no whole number as its "call"';
  if (typeof tool !== 'string' || tool.length > TOOL_NAME_CHARS_MAX) return 'has no name of a tool as its "tool"';
  const [other] = Object.keys(others);
  if (other !== undefined) return 'has members beside "call", "tool" and "arguments"';
  return { call: call as number, tool, arguments: given };
}

/** The most characters of a tool's name in a call: more than any name that a submission may have. */
const TOOL_NAME_CHARS_MAX = 256;

function parsed(line: Buffer): Record<string, unknown> | string {
  try {
    const text = utf8.decode(line);
    new JsonScan(line, { tokensMax: TOKENS_MAX, numbers: 'exact' }).run(Number.POSITIVE_INFINITY);
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    return 'is no JSON object';
  } catch (error) {
    return error instanceof JsonProblem ? error.message : 'is not UTF-8';
  }
}
