/**
 * The attacker of the attack benchmark, as a separate process. Its parent sends it one attack, and it keeps that up
 * until it is told to stop; it ends with its parent. It reopens whatever the service closes, but never more often than
 * the attack says: attacker and service share the cores, and an attack that takes them all would measure the kernel.
 */
import { connect, type Socket } from 'node:net';

/** An attack by name, on this port. */
export interface Attack {
  readonly kind: AttackName;
  readonly port: number;
  /** A key of the attacker, and a path of a large result that it may read. */
  readonly key: string;
  readonly result: string;
}

/** What an attack has done so far. */
export interface Done {
  readonly connections: number;
  readonly bytes: number;
}

/** How an attack opens connections, and what it does with each. */
interface Plan {
  readonly what: string;
  readonly connections: number;
  /** Connections that it opens in a second, at most. */
  readonly perSecond: number;
  readonly begin: (socket: Socket, attack: Attack) => void;
}

const HOST = 'host: svc.example\r\n';
const HEALTH = `GET /healthz HTTP/1.1\r\n${HOST}\r\n`;
const CONTRACT = `GET /openapi.json HTTP/1.1\r\n${HOST}\r\n`;
const dripMilliseconds = 1000;
const slowDripMilliseconds = 5000;

export const ATTACKS = {
  'pipelined, nothing read': {
    what: '20 connections, 10,000 × GET /openapi.json on each',
    connections: 20,
    perSecond: 20,
    begin: (socket) => {
      socket.pause();
      socket.write(CONTRACT.repeat(10_000));
    },
  },
  'pipelined, all read': {
    what: '12 connections, GET /healthz without end on each',
    connections: 12,
    perSecond: 20,
    begin: (socket) => {
      const batch = Buffer.from(HEALTH.repeat(20_000));
      const write = () => {
        while (!socket.destroyed && socket.write(batch));
      };
      socket.resume().on('drain', write);
      write();
    },
  },
  'slow heads': {
    what: '300 connections, a byte of a head every 5 s, 300 new ones a second',
    connections: 300,
    perSecond: 300,
    begin: (socket) => {
      drip(socket, `GET /healthz HTTP/1.1\r\n${HOST}x: ${'x'.repeat(100)}`, slowDripMilliseconds);
    },
  },
  'stalled readers': {
    what: '250 connections, 8 large answers asked for on each, nothing read',
    connections: 250,
    perSecond: 100,
    begin: (socket, { key, result }) => {
      socket.pause();
      const own = `GET ${result} HTTP/1.1\r\n${HOST}authorization: Bearer ${key}\r\n\r\n`;
      socket.write((Math.random() < 0.5 ? own : CONTRACT).repeat(8));
    },
  },
  upgrades: {
    what: '100 connections, 1,000 handshakes with a made-up ticket a second',
    connections: 100,
    perSecond: 1000,
    begin: (socket) => {
      socket.on('data', () => socket.destroy());
      socket.write(
        `GET /v1/jobs/job_0/stream?ticket=${'x'.repeat(43)} HTTP/1.1\r\n${HOST}connection: Upgrade\r\nupgrade: websocket\r\n` +
          'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
      );
    },
  },
  'trickling bodies': {
    what: '250 connections, a byte of a body every second, half with a key',
    connections: 250,
    perSecond: 300,
    begin: (socket, { key }) => {
      const credential = Math.random() < 0.5 ? `authorization: Bearer ${key}\r\n` : '';
      socket.resume();
      socket.write(
        `POST /v1/jobs HTTP/1.1\r\n${HOST}${credential}content-type: application/json\r\ncontent-length: 1000000\r\n\r\n`,
      );
      drip(socket, ' '.repeat(1000), dripMilliseconds);
    },
  },
} as const satisfies Readonly<Record<string, Plan>>;

export type AttackName = keyof typeof ATTACKS;

function drip(socket: Socket, text: string, milliseconds: number): void {
  let sent = 0;
  const next = () => {
    if (!socket.destroyed) socket.write(text.charAt(sent++ % text.length));
  };
  const timer = setInterval(next, milliseconds);
  socket.on('close', () => clearInterval(timer));
  next();
}

const tickMilliseconds = 20;

/** Keeps an attack up until the returned function is called. */
function attack(order: Attack): () => Done {
  const { connections, perSecond, begin }: Plan = ATTACKS[order.kind];
  const sockets = new Set<Socket>();
  const done = { connections: 0, bytes: 0 };
  let allowed = connections;
  const open = () => {
    const socket = connect({ port: order.port, host: '127.0.0.1', noDelay: true });
    sockets.add(socket);
    done.connections += 1;
    socket.on('connect', () => begin(socket, order));
    // An attacker expects to be reset; `close` follows.
    socket.on('error', () => {});
    socket.on('end', () => socket.destroy());
    socket.on('close', () => {
      done.bytes += socket.bytesWritten;
      sockets.delete(socket);
    });
  };
  const tick = () => {
    allowed = Math.min(connections, allowed + (perSecond * tickMilliseconds) / 1000);
    for (; allowed >= 1 && sockets.size < connections; allowed -= 1) open();
  };
  const timer = setInterval(tick, tickMilliseconds);
  tick();
  return () => {
    clearInterval(timer);
    for (const socket of sockets) {
      done.bytes += socket.bytesWritten;
      socket.removeAllListeners('close').destroy();
    }
    return done;
  };
}

let stop: (() => Done) | null = null;
process.on('message', (order: Attack | 'stop') => {
  if (order !== 'stop') stop = attack(order);
  else process.send?.(stop?.() ?? { connections: 0, bytes: 0 });
});
process.on('disconnect', () => process.exit(0));
