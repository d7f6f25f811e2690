/** A collector for OpenTelemetry traces on this host. It keeps what it receives, for a test. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

export interface CollectedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue?: string } }[];
}

interface TracesBody {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly CollectedSpan[] }[] }[];
}

export interface TraceCollector extends AsyncDisposable {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  /** Everything that was sent, as JSON text. */
  readonly text: () => string;
}

export async function openTraceCollector(): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      bodies.push(JSON.stringify(body));
      for (const { scopeSpans } of (body as TracesBody).resourceSpans) {
        for (const scope of scopeSpans) spans.push(...scope.spans);
      }
      response.setHeader('content-type', 'application/json').end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    text: () => bodies.join('\n'),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
