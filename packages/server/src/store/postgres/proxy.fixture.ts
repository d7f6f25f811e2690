/** For tests: a proxy for a PostgreSQL server that can lose the answer to a commit, or let connections fall silent. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** The server's answer to a commit: the tag of a CommandComplete message. A type and a length come before the tag. */
const COMMITTED = 'COMMIT\0';
const headBytes = 5;

/** The last message from a server that cannot write its log. */
const PANIC = errorResponse({ severity: 'PANIC', state: '53100', message: 'could not write to file' });

/** Forwards to the server. On request, it ends the next connection that commits, once the server has answered the commit. */
export async function proxyTo(target: string) {
  const { hostname, port } = new URL(target);
  /** What the next commit gets as its answer; null for the server's own answer. */
  let lastWords: Buffer | null = null;
  let connections = 0;
  const silent = new Set<Socket>();
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    connections += 1;
    const server = connect(Number(port), hostname);
    for (const socket of [client, server]) sockets.add(socket.on('error', () => {}));
    client.pipe(server);
    server.on('data', (bytes: Buffer) => {
      if (client.writableEnded || silent.has(client)) return;
      const at = lastWords === null ? -1 : bytes.indexOf(COMMITTED);
      if (lastWords === null || at === -1) {
        client.write(bytes);
        return;
      }
      client.end(Buffer.concat([bytes.subarray(0, at - headBytes), lastWords]));
      lastWords = null;
    });
    client.on('close', () => server.destroy());
    server.on('close', () => client.destroy());
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const through = new URL(target);
  const address = proxy.address();
  through.port = String(typeof address === 'object' ? address?.port : '');
  return {
    url: through.href,
    /** How many connections have been made. */
    get connections() {
      return connections;
    },
    /** The next commit gets no answer. */
    cut: () => {
      lastWords = Buffer.of();
    },
    /** The next commit is on disk, but the answer says that the server is ending. */
    panic: () => {
      lastWords = PANIC;
    },
    /** The present connections stay open, but no more bytes come on them. */
    silence: () => {
      for (const socket of sockets) silent.add(socket);
    },
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
  };
}

/** https://www.postgresql.org/docs/current/protocol-error-fields.html */
function errorResponse({ severity, state, message }: Record<'severity' | 'state' | 'message', string>): Buffer {
  const fields = Buffer.from(`S${severity}\0V${severity}\0C${state}\0M${message}\0\0`);
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}
