/** Passes requests on to an object server unchanged, so that their signatures hold. A test can stop some requests. */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** `hold` never answers, and `refuse` answers with 403. */
type Passage = 'pass' | 'hold' | 'refuse';

interface ObjectProxy extends AsyncDisposable {
  /** The same URL through the proxy. */
  urlOf(url: string): string;
}

/** Opens a proxy on loopback. For each request, `decide` is called with the method. */
export async function openObjectProxy(target: string, decide: (method: string) => Passage): Promise<ObjectProxy> {
  const { hostname, port } = new URL(target);
  const server = createServer((incoming, response) => {
    const { method = '', url: path = '', headers } = incoming;
    const passage = decide(method);
    if (passage === 'hold') return;
    if (passage === 'refuse') {
      response.writeHead(403).end();
      return;
    }
    const asked = request({ hostname, port, method, path, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    asked.on('error', () => response.destroy());
    incoming.pipe(asked);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: ownPort } = server.address() as AddressInfo;
  return {
    urlOf(url) {
      const through = new URL(url);
      through.port = String(ownPort);
      return through.href;
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
