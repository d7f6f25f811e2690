/**
 * The attacker of the attack benchmark, as a separate process. Its parent sends one attack. The attacker continues the attack
 * until the parent stops it or ends. The attacker reopens connections that the service closes, but never more often than the
 * attack says: an attack that takes all of the shared cores would measure the kernel.
 */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

/** The message that tells the attacker to begin. It names the attack (`kind`) and the port to attack. */
export interface Attack {
  readonly kind: AttackName;
  readonly port: number;
  /** The attacker's tenants, as many as the attack's plan states. The connections use them in turn. */
  readonly tenants: readonly AttackingTenant[];
}

/** One of the attacker's tenants, and what that tenant may use. */
export interface AttackingTenant {
  readonly key: string;
  /** The paths of a large result and of a long job; empty if the attack does not need them. */
  readonly result: string;
  readonly running: string;
}

/** The figures of an attack so far. */
export interface Done {
  readonly connections: number;
  readonly bytes: number;
}

/** How an attack opens connections, and what it does with each. */
export interface Plan {
  readonly what: string;
  readonly connections: number;
  /** The most connections that the attack opens per second. */
  readonly perSecond: number;
  /** The number of the attacker's tenants (default 1), and what each tenant has before the attack. */
  readonly tenants?: number;
  readonly has?: 'a large result' | 'a running job';
  readonly begin: (socket: Socket, tenant: AttackingTenant) => void;
}

const HOST = 'host: svc.example\r\n';
const HEALTH = `GET /healthz HTTP/1.1\r\n${HOST}\r\n`;
const CONTRACT = `GET /openapi.json HTTP/1.1\r\n${HOST}\r\n`;
const dripMilliseconds = 1000;
const slowDripMilliseconds = 5000;
const askMilliseconds = 4000;
const refusedMilliseconds = 50;
const uploadMib = 64;

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
  'slow bodies of 3 tenants': {
    what: '27 connections, a byte of a body every second',
    connections: 27,
    perSecond: 50,
    tenants: 3,
    begin: slowBody,
  },
  'slow bodies of 10 tenants': {
    what: '30 connections, a byte of a body every second',
    connections: 30,
    perSecond: 50,
    tenants: 10,
    begin: slowBody,
  },
  'one upload': {
    what: '1 connection, bodies of 64 MiB with a wrong digest',
    connections: 1,
    perSecond: 20,
    begin: wrongUpload,
  },
  'eight uploads': {
    what: '8 connections, bodies of 64 MiB with a wrong digest',
    connections: 8,
    perSecond: 20,
    begin: wrongUpload,
  },
  'runs of one tenant': {
    what: '64 connections, a run on each, the next at its end or 50 ms after a refusal',
    connections: 64,
    perSecond: 100,
    begin: (socket, { key }) => {
      const body = JSON.stringify({ language: 'bash', code: 'true' });
      const run =
        `POST /v1/jobs?wait_seconds=50 HTTP/1.1\r\n${HOST}authorization: Bearer ${key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
      // The first bytes of an answer include its whole head.
      socket.on('data', (bytes) => {
        const head = bytes.toString('latin1', 0, 12);
        if (head === 'HTTP/1.1 201') socket.write(run);
        else if (head.startsWith('HTTP/1.1')) setTimeout(() => socket.write(run), refusedMilliseconds);
      });
      socket.write(run);
    },
  },
  'waits of 10 tenants': {
    what: '90 connections, each waits 300 s for a result',
    connections: 90,
    perSecond: 50,
    tenants: 10,
    has: 'a running job',
    begin: (socket, { key, running }) => {
      socket.on('data', () => socket.destroy());
      socket.write(`GET ${running}/result?wait_seconds=300 HTTP/1.1\r\n${HOST}authorization: Bearer ${key}\r\n\r\n`);
    },
  },
  'streams of 10 tenants': {
    what: '90 connections, each a stream of a job that goes on',
    connections: 90,
    perSecond: 50,
    tenants: 10,
    has: 'a running job',
    begin: (socket, { key, running }) => {
      socket.resume();
      socket.write(
        `GET ${running}/stream HTTP/1.1\r\n${HOST}authorization: Bearer ${key}\r\nconnection: Upgrade\r\n` +
          'upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
      );
    },
  },
  'responses of 10 tenants': {
    what: '50 connections, each a large answer of which nothing is read',
    connections: 50,
    perSecond: 50,
    tenants: 10,
    has: 'a large result',
    begin: (socket, { key, result }) => {
      socket.pause();
      socket.write(`GET ${result} HTTP/1.1\r\n${HOST}authorization: Bearer ${key}\r\n\r\n`);
    },
  },
  'connections of 3 tenants': {
    what: '300 connections, a small request on each every 4 s',
    connections: 300,
    perSecond: 100,
    tenants: 3,
    begin: (socket, { key }) => {
      const ask = () => socket.write(`GET /v1/whoami HTTP/1.1\r\n${HOST}authorization: Bearer ${key}\r\n\r\n`);
      const timer = setInterval(ask, askMilliseconds);
      socket.resume().on('close', () => clearInterval(timer));
      ask();
    },
  },
} as const satisfies Readonly<Record<string, Plan>>;

export type AttackName = keyof typeof ATTACKS;

function slowBody(socket: Socket, { key }: AttackingTenant): void {
  socket.resume();
  socket.write(
    `POST /v1/jobs HTTP/1.1\r\n${HOST}authorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n`,
  );
  drip(socket, ' '.repeat(1000), dripMilliseconds);
}

const uploadPart = randomBytes(2 ** 20);

/** Sends an upload with a wrong digest. The answer ends the connection, and a new one begins. */
function wrongUpload(socket: Socket, { key }: AttackingTenant): void {
  let left = uploadMib;
  const write = () => {
    while (left > 0 && !socket.destroyed) {
      left -= 1;
      if (!socket.write(uploadPart)) return;
    }
  };
  socket.on('drain', write).on('data', () => socket.destroy());
  const path = `/v1/blobs/sha256/${randomBytes(32).toString('hex')}`;
  socket.write(
    `PUT ${path} HTTP/1.1\r\n${HOST}authorization: Bearer ${key}\r\ncontent-length: ${uploadMib * 2 ** 20}\r\n\r\n`,
  );
  write();
}

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

/** Continues an attack until the returned function is called. */
function attack(order: Attack): () => Done {
  const { connections, perSecond, begin }: Plan = ATTACKS[order.kind];
  const sockets = new Set<Socket>();
  const done = { connections: 0, bytes: 0 };
  let allowed = connections;
  const open = () => {
    const socket = connect({ port: order.port, host: '127.0.0.1', noDelay: true });
    const tenant = order.tenants[done.connections % order.tenants.length];
    sockets.add(socket);
    done.connections += 1;
    socket.on('connect', () => tenant !== undefined && begin(socket, tenant));
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
