/** A proxy on loopback between a browser and a service. A test can cut and join the line. Bytes pass unchanged. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Line extends AsyncDisposable {
  readonly url: string;
  /** Ends every connection, and accepts no new one. */
  cut: () => Promise<void>;
  /**
   * Passes no further bytes on the existing WebSockets but leaves them open, as when a network goes away. The browser itself
   * gives up all other connections when its network changes.
   */
  silence: () => void;
  /** Accepts new connections again, at the same address. */
  join: () => Promise<void>;
}

/** Opens a line to a port of this machine. */
export async function openLine(upstream: number): Promise<Line> {
  const sockets = new Set<Socket>();
  const streams = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    return socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    const far = keep(connect(upstream, '127.0.0.1'));
    keep(near).on('close', () => far.destroy());
    far.on('close', () => near.destroy());
    near.once('data', (head) => /^upgrade: websocket/im.test(String(head)) && streams.add(near).add(far));
    near.pipe(far).pipe(near);
  });
  const listen = (port: number) => once(server.listen(port, '127.0.0.1'), 'listening');
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const cut = async () => {
    const closed = server.listening ? once(server, 'close') : null;
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return {
    url: `http://127.0.0.1:${port}`,
    cut,
    silence() {
      for (const socket of streams) socket.unpipe().pause();
    },
    async join() {
      await listen(port);
    },
    [Symbol.asyncDispose]: cut,
  };
}
