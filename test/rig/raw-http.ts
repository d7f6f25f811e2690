/** HTTP as bytes on a socket, for requests that no client library would send. */
import { connect } from 'node:net';

/** One answer as received. Header names are in lower case. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Sends the bytes, ends the sending side unless it is to stay open, and reads until the connection is closed. The service
 * may close the connection before it has read everything. The bytes that arrived before are returned, even if the
 * connection was reset.
 */
export async function rawExchange(
  port: number,
  bytes: string | Uint8Array,
  sendingSide: 'ended' | 'open' = 'ended',
): Promise<Buffer> {
  const socket = connect({ port, host: '127.0.0.1' });
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  socket.on('error', () => {});
  if (sendingSide === 'ended') socket.end(bytes);
  else socket.write(bytes);
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  return Buffer.concat(pieces);
}

/** The answers in the bytes received on a connection, in order. Bodies end at their declared length. */
export function rawAnswers(bytes: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let rest = bytes; rest.length > 0; ) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) throw new Error(`not an answer: ${rest.toString().slice(0, 80)}`);
    const [statusLine = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => [line.split(':')[0]?.toLowerCase() ?? '', line.slice(line.indexOf(':') + 1).trim()]),
    );
    const from = end + 4;
    const length = Number(headers['content-length'] ?? 0);
    answers.push({
      status: Number(statusLine.split(' ')[1]),
      headers,
      body: rest.subarray(from, from + length).toString(),
    });
    rest = rest.subarray(from + length);
  }
  return answers;
}
