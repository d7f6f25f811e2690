/** Reads this process's stdin: bounded input for a program, or one line that must not be shown. */

import { fstatSync } from 'node:fs';
import { stdin } from 'node:process';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { readUpTo } from '@vouchbox/evidence';
import { UsageError } from '../failures/usage-error.ts';
import { note } from './print.ts';

const STDIN = 0;

/** Whether stdin is a pipe, a socket or a file. False for a terminal, for /dev/null and for a closed stdin. */
export function isPiped(): boolean {
  try {
    const stats = fstatSync(STDIN);
    return stats.isFIFO() || stats.isSocket() || stats.isFile();
  } catch {
    return false; // stdin is closed.
  }
}

/** If stdin has not ended after this time, a person may wonder what the command is waiting for. */
const patienceMilliseconds = 2000;

/**
 * All of stdin. If that takes long, a line on stderr says what the command waits for, since some callers never close a pipe.
 * @throws UsageError if there are more than `bytesMax` bytes
 */
export async function readStandardInput(bytesMax: number): Promise<Buffer> {
  const waiting = setTimeout(
    () => note("reading stdin to its end; --stdin '' gives the program none"),
    patienceMilliseconds,
  );
  try {
    const bytes = await readUpTo(stdin, bytesMax);
    if (bytes === null) throw new UsageError(`stdin has more than ${bytesMax} bytes; give large input with --file`);
    return Buffer.from(bytes.buffer);
  } finally {
    clearTimeout(waiting);
  }
}

/** One line from stdin without the line end; empty if there is none. At a terminal, the question is asked on stderr. */
export async function askSecretly(question: string): Promise<string> {
  if (stdin.isTTY) process.stderr.write(question);
  const waiting = stdin.isTTY ? undefined : setTimeout(() => note('reading a line from stdin'), patienceMilliseconds);
  const lines = createInterface({ input: stdin, terminal: stdin.isTTY === true, output: discarding() });
  try {
    for await (const line of lines) return line.trim();
    return '';
  } finally {
    clearTimeout(waiting);
    lines.close();
    if (stdin.isTTY) process.stderr.write('\n');
  }
}

/** Discards the echo that the line editor would write to a terminal. */
function discarding(): Writable {
  return new Writable({ write: (_chunk, _encoding, written) => written() });
}
