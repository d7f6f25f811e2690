/** Byte-exact HTTP for tests of the transport: sends exactly the bytes that a test gives, and keeps what comes back. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** One answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A connection that keeps what it receives. Disposing it resets the connection. */
export class RawSocket implements Disposable {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  #isClosed = false;
  #changed: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#changed();
    });
    socket.on('close', () => {
      this.#isClosed = true;
      this.#changed();
    });
    // Some of these tests provoke a reset. `close` follows.
    socket.on('error', () => undefined);
  }

  static async open(port: number): Promise<RawSocket> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('end', () => socket.end());
    await once(socket, 'connect');
    return new RawSocket(socket);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get text(): string {
    return this.#received.toString('latin1');
  }

  send(...parts: (string | Buffer)[]): this {
    for (const part of parts) this.socket.write(typeof part === 'string' ? Buffer.from(part, 'latin1') : part);
    return this;
  }

  /** Resolves once `holds` returns true; rejects if the connection closes before that. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      if (this.#isClosed) throw new Error(`the connection closed after ${JSON.stringify(this.text)}`);
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  /** The first `count` whole answers. */
  async answers(count: number): Promise<RawAnswer[]> {
    await this.until(() => parseAnswers(this.text).length >= count);
    return parseAnswers(this.text).slice(0, count);
  }

  async answer(): Promise<RawAnswer> {
    const [answer] = await this.answers(1);
    return answer as RawAnswer;
  }

  /** Everything that came before the server closed or reset the connection. */
  async untilClosed(): Promise<RawAnswer[]> {
    const { socket } = this;
    if (!this.#isClosed) await new Promise<void>((resolve) => socket.once('close', () => resolve()));
    return parseAnswers(this.text);
  }

  [Symbol.dispose](): void {
    this.socket.resetAndDestroy();
  }
}

/** All whole answers with a declared length. An unfinished answer at the end is left out. */
export function parseAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = text;
  for (;;) {
    const headEnd = rest.indexOf('\r\n\r\n');
    const match = /^HTTP\/1\.1 (\d{3})/.exec(rest);
    if (headEnd < 0 || match === null) return answers;
    const headers = headersOf(rest.slice(0, headEnd));
    const length = Number(headers['content-length'] ?? 0);
    const bodyStart = headEnd + 4;
    if (rest.length < bodyStart + length) return answers;
    answers.push({ status: Number(match[1]), headers, body: rest.slice(bodyStart, bodyStart + length) });
    rest = rest.slice(bodyStart + length);
  }
}

function headersOf(head: string): Record<string, string> {
  const lines = head.split('\r\n').slice(1);
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
}
