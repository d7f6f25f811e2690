/** Forwards connections on loopback. It can also go silent, or refuse connections like a server that is gone. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export class TcpProxy implements Disposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;
  #port = 0;

  private constructor(target: URL) {
    this.#server = createServer({ noDelay: true }, (client) => {
      this.#note(client);
      if (this.#isCut) return;
      const server = this.#note(connect({ port: Number(target.port), host: target.hostname, noDelay: true }));
      client.pipe(server).pipe(client);
      client.on('close', () => server.destroy());
      server.on('close', () => client.destroy());
    }).listen(0, '127.0.0.1');
  }

  static async to(url: string): Promise<TcpProxy> {
    const proxy = new TcpProxy(new URL(url));
    await once(proxy.#server, 'listening');
    proxy.#port = (proxy.#server.address() as AddressInfo).port;
    return proxy;
  }

  /** The same URL through the proxy. */
  urlOf(url: string): string {
    const through = new URL(url);
    through.port = String(this.#port);
    return through.href;
  }

  /** Stops passing bytes on existing and new connections. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.unpipe().pause();
  }

  /** Ends the cut connections, and passes bytes on new ones. */
  restore(): void {
    this.#isCut = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Ends all connections and refuses new ones. */
  async refuse(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Accepts connections again, on the same port. */
  async accept(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #note(socket: Socket): Socket {
    this.#sockets.add(socket);
    return socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket));
  }
}
