/** Takes one line that must not be seen: typed at a terminal without an echo, or the first line of stdin. */
import { stdin } from 'node:process';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';

/** The line without its end; empty if there is none. At a terminal the question is asked on stderr. */
export async function askSecretly(question: string): Promise<string> {
  if (stdin.isTTY) process.stderr.write(question);
  const lines = createInterface({ input: stdin, terminal: stdin.isTTY === true, output: discarding() });
  try {
    for await (const line of lines) return line.trim();
    return '';
  } finally {
    lines.close();
    if (stdin.isTTY) process.stderr.write('\n');
  }
}

/** A terminal's echo is written by the line editor. It writes into nothing. */
function discarding(): Writable {
  return new Writable({ write: (_chunk, _encoding, written) => written() });
}
