/**
 * The client of the HTTP benchmark. It is a separate process, so that its cost does not count as the service's. Its parent sends
 * it orders, and it ends when its parent ends. It uses raw sockets and parses only as much HTTP as it must: a client that costs
 * more than the server would measure itself.
 */
import { connect, type Socket } from 'node:net';

/** The order to send these requests in turn for a while, one at a time on each of some connections. */
export interface Drive {
  readonly kind: 'drive';
  readonly port: number;
  /** The whole text of each request. */
  readonly requests: readonly string[];
  readonly connections: number;
  readonly milliseconds: number;
}

/** The order to make these requests on some connections, and to read each answer slowly until told to stop. */
export interface Hold {
  readonly kind: 'hold';
  readonly port: number;
  readonly requests: readonly string[];
  readonly connections: number;
}

export type Order = Drive | Hold | { readonly kind: 'let go' };

/** The result of a drive. */
export interface Driven {
  readonly answers: number;
  /** How many answers had a status other than 2xx. */
  readonly refused: number;
  /** The beginning of the first such answer. */
  readonly firstRefusal: string;
  readonly milliseconds: number;
}

/** The answers that are held at present. */
export interface Held {
  /** How many connections are reading an answer with status 200. */
  readonly transfers: number;
  /** How often an answer asked the client to try later. */
  readonly refusals: number;
}

const HEAD_END = Buffer.from('\r\n\r\n');

/** Finds where each answer on a connection ends. */
class AnswerReader {
  #head: Buffer = Buffer.alloc(0);
  #bodyLeft = 0;
  /** The status in the last head that came. */
  status = 0;
  /** The bytes that came with that head. */
  beginning: Buffer = Buffer.alloc(0);

  /** Takes a piece of the bytes. Returns true if it ends an answer. Only one answer is under way at a time. */
  take(piece: Buffer): boolean {
    if (this.#bodyLeft > 0) {
      this.#bodyLeft -= piece.length;
      return this.#bodyLeft <= 0;
    }
    this.#head = this.#head.length === 0 ? piece : Buffer.concat([this.#head, piece]);
    const end = this.#head.indexOf(HEAD_END);
    if (end < 0) return false;
    const text = this.#head.toString('latin1', 0, end);
    this.status = Number(text.slice(9, 12));
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0);
    this.#bodyLeft = length - (this.#head.length - end - HEAD_END.length);
    this.beginning = this.#head;
    this.#head = Buffer.alloc(0);
    return this.#bodyLeft <= 0;
  }
}

/**
 * Keeps the event loop turning until told to stop. On a virtual machine, waking a sleeping client costs the server as much as a
 * small answer. A slow server would pay this cost. A fast server would not, because it keeps the client busy.
 */
function keepAwake(): () => void {
  let isAwake = true;
  const turn = (): void => {
    if (isAwake) setImmediate(turn);
  };
  turn();
  return () => {
    isAwake = false;
  };
}

async function drive({ port, requests, connections, milliseconds }: Drive): Promise<Driven> {
  let answers = 0;
  let refused = 0;
  let firstRefusal = '';
  let sent = 0;
  const startedAt = performance.now();
  const endsAt = startedAt + milliseconds;
  const next = () => requests[sent++ % requests.length] ?? '';
  const one = (socket: Socket) =>
    new Promise<void>((resolve, reject) => {
      const reader = new AnswerReader();
      socket.on('error', reject);
      socket.on('close', () => reject(new Error('the connection was closed')));
      socket.on('data', (piece: Buffer) => {
        if (!reader.take(piece)) return;
        answers++;
        if (reader.status >= 300 && refused++ === 0) firstRefusal = reader.beginning.toString('utf8', 0, 2000);
        if (performance.now() < endsAt) socket.write(next());
        else resolve();
      });
      socket.write(next());
    });
  const sockets = await Promise.all(Array.from({ length: connections }, () => opened(port)));
  const letSleep = keepAwake();
  await Promise.all(sockets.map(one));
  letSleep();
  const took = performance.now() - startedAt;
  for (const socket of sockets) socket.removeAllListeners('close').destroy();
  return { answers, refused, firstRefusal, milliseconds: took };
}

function opened(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.once('error', reject).once('connect', () => resolve(socket.off('error', reject)));
  });
}

/** How often and how much a slow reader reads: less than a kernel buffers, but enough to keep the connection. */
const sipMilliseconds = 1000;
const sipBytes = 4096;
const againMilliseconds = 500;

const held = { transfers: new Set<Socket>(), refusals: 0, sockets: [] as Socket[], timers: [] as NodeJS.Timeout[] };

async function hold({ port, requests, connections }: Hold): Promise<void> {
  for (let at = 0; at < connections; at++) {
    const socket = await opened(port);
    held.sockets.push(socket);
    readSlowly(socket, requests[at % requests.length] ?? '');
  }
}

function readSlowly(socket: Socket, request: string): void {
  const reader = new AnswerReader();
  const sip = () => {
    const piece = socket.read(Math.min(sipBytes, socket.readableLength)) as Buffer | null;
    if (piece === null) return;
    const isWhole = reader.take(piece);
    if (reader.status === 200) {
      if (isWhole) held.transfers.delete(socket);
      else held.transfers.add(socket);
      return;
    }
    if (!isWhole) return;
    held.refusals++;
    held.timers.push(setTimeout(() => socket.writable && socket.write(request), againMilliseconds));
  };
  socket.on('error', () => {});
  socket.on('close', () => held.transfers.delete(socket));
  socket.on('readable', () => {
    if (!held.transfers.has(socket)) sip();
  });
  held.timers.push(setInterval(sip, sipMilliseconds));
  socket.write(request);
}

function letGo(): void {
  for (const timer of held.timers) clearTimeout(timer);
  for (const socket of held.sockets) socket.destroy();
  held.sockets = [];
  held.timers = [];
  held.transfers.clear();
  held.refusals = 0;
}

async function obey(order: Order): Promise<Driven | Held> {
  switch (order.kind) {
    case 'drive':
      return await drive(order);
    case 'hold':
      await hold(order);
      break;
    case 'let go': {
      const { transfers, refusals } = held;
      const before = { transfers: transfers.size, refusals };
      letGo();
      return before;
    }
  }
  return { transfers: held.transfers.size, refusals: held.refusals };
}

process.on('message', (order: Order) => {
  obey(order).then(
    (answer) => process.send?.({ answer }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
