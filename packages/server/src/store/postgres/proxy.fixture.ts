/** For tests: a way to a PostgreSQL server on which the answer to a commit is lost, or connections fall silent. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** The server's answer to a commit: a CommandComplete message, whose tag has a type and a length before it. */
const COMMITTED = 'COMMIT\0';
const headBytes = 5;

/** The last message of a server that cannot write its log. */
const PANIC = errorResponse({ severity: 'PANIC', state: '53100', message: 'could not write to file' });

/** Forwards to the server. It ends the next connection that commits, once the server has answered the commit. */
export async function proxyTo(target: string) {
  const { hostname, port } = new URL(target);
  /** The answer to the next commit; null for the server's own. */
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
    /** How many connections there were. */
    get connections() {
      return connections;
    },
    /** The next commit gets no answer. */
    cut: () => {
      lastWords = Buffer.of();
    },
    /** The next commit is on disk, but its answer is that the server ends. */
    panic: () => {
      lastWords = PANIC;
    },
    /** No more bytes come on the present connections, which stay open. */
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
