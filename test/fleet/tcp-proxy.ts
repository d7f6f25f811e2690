/** Forwards connections on loopback, and can stop to: then nothing arrives any more, and nobody is told. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

export class TcpProxy implements Disposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(target: URL) {
    this.#server = createServer((client) => {
      this.#note(client);
      if (this.#isCut) return;
      const server = this.#note(connect(Number(target.port), target.hostname));
      client.pipe(server).pipe(client);
      client.on('close', () => server.destroy());
      server.on('close', () => client.destroy());
    }).listen(0, '127.0.0.1');
  }

  static async to(url: string): Promise<TcpProxy> {
    const proxy = new TcpProxy(new URL(url));
    await once(proxy.#server, 'listening');
    return proxy;
  }

  /** The same URL through the proxy. */
  urlOf(url: string): string {
    const through = new URL(url);
    const address = this.#server.address();
    through.port = String(typeof address === 'object' ? address?.port : '');
    return through.href;
  }

  /** Lets nothing through, neither on connections that exist nor on new ones. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.unpipe().pause();
  }

  /** Ends the connections that were cut, and lets new ones through. */
  restore(): void {
    this.#isCut = false;
    for (const socket of this.#sockets) socket.destroy();
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
