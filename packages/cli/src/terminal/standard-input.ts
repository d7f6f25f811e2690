/** The stdin of this process, as a program's input: whether something is piped to it, and its bounded content. */
import { fstatSync } from 'node:fs';
import { stdin } from 'node:process';
import { UsageError } from '../failures/usage-error.ts';
import { note } from './print.ts';

const STDIN = 0;

/** Whether a pipe, a socket or a file is connected to stdin: not a terminal, not /dev/null, not nothing. */
export function isPiped(): boolean {
  try {
    const stats = fstatSync(STDIN);
    return stats.isFIFO() || stats.isSocket() || stats.isFile();
  } catch {
    return false; // It is closed.
  }
}

/** After this time without an end, a person may wonder what the command waits for. */
const patienceMilliseconds = 2000;

/**
 * All of stdin. Says on stderr that it waits where the writer takes long: some callers never close a pipe.
 * @throws UsageError if there are more bytes than the bound
 */
export async function readStandardInput(bytesMax: number): Promise<Buffer> {
  const waiting = setTimeout(
    () => note("reading stdin to its end; --stdin '' gives the program none"),
    patienceMilliseconds,
  );
  try {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of stdin as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw new UsageError(`stdin has more than ${bytesMax} bytes; give large input with --file`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } finally {
    clearTimeout(waiting);
  }
}
