/** `vouchbox run --tool`: commands that answer the program's tool calls. */
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { RunTools, ToolCall } from '@vouchbox/client';
import { TOOL_LIMIT_CEILINGS } from '@vouchbox/protocol';
import { UsageError } from './failures/usage-error.ts';
import { endCommand, startCommand } from './service/foreign-command.ts';

/** The longest message that is read from a failed command. The client cuts the message further. */
const stderrBytesMax = 16 * 1024;

/** Functions that run the commands given as `NAME=COMMAND`. @throws UsageError for another form, or if a name is given twice */
export function commandTools(given: readonly string[]): RunTools {
  const tools = new Map<string, RunTools[string]>();
  for (const text of given) {
    const [, name, command] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
    if (name === undefined || command === undefined) throw new UsageError(`--tool ${text}: give NAME=COMMAND`);
    if (tools.has(name)) throw new UsageError(`--tool ${text}: ${name} has a command already`);
    tools.set(name, (words, call) => answerOf(command, words, call));
  }
  return Object.fromEntries(tools);
}

/** The command's output, as JSON if it is JSON, else as text. @throws Error with the command's stderr if the command fails */
async function answerOf(command: string, words: unknown, { signal }: ToolCall): Promise<unknown> {
  signal.throwIfAborted();
  const child = startCommand(command);
  const end = () => endCommand(child);
  signal.addEventListener('abort', end, { once: true });
  const closed = once(child, 'close') as Promise<[code: number | null, signal: NodeJS.Signals | null]>;
  // A command may end without reading its arguments.
  child.stdin.on('error', () => {}).end(JSON.stringify(words));
  const [stdout, stderr, [code, ended]] = await Promise.all([
    textUpTo(child.stdout, TOOL_LIMIT_CEILINGS.call_bytes, end),
    textUpTo(child.stderr, stderrBytesMax),
    closed,
  ]);
  signal.removeEventListener('abort', end);
  if (stdout === null) throw new Error(`the command printed more than ${TOOL_LIMIT_CEILINGS.call_bytes} bytes`);
  if (code !== 0) throw new Error(stderr?.trim() || `the command ended with ${ended ?? code}`);
  return await asValue(stdout);
}

/** @throws JsonProblem if JSON would not reach the program unchanged, for example a number that a double cannot hold */
async function asValue(text: string): Promise<unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text.replace(/\r?\n$/, '');
  }
  const { JsonScan } = await import('@vouchbox/evidence');
  new JsonScan(Buffer.from(text), { tokensMax: Number.POSITIVE_INFINITY, numbers: 'exact' }).run(
    Number.POSITIVE_INFINITY,
  );
  return value;
}

/** A stream's text. If it is too long, calls `tooMuch` and returns null. Without `tooMuch`, returns the beginning of the text. */
async function textUpTo(stream: Readable, bytesMax: number, tooMuch?: () => void): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (bytes > bytesMax) continue;
    bytes += chunk.length;
    chunks.push(chunk);
    if (bytes > bytesMax) tooMuch?.();
  }
  if (bytes > bytesMax && tooMuch !== undefined) return null;
  return Buffer.concat(chunks).subarray(0, bytesMax).toString();
}
