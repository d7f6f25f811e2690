/**
 * Only the HTTP library, as a separate process: the baseline of benchmarks. It answers every path with as many bytes
 * as `size` in the query says, reads JSON bodies as the library does, and has no hook, no log and no store. The first
 * line that it prints is its port.
 */
import type { AddressInfo } from 'node:net';
import { fastify } from 'fastify';

const app = fastify();
const texts = new Map<string, string>();

/** A text of this many bytes, made once. */
function textOf(size: string): string {
  const text = texts.get(size) ?? JSON.stringify('x'.repeat(Number(size) - 2));
  texts.set(size, text);
  return text;
}

type Sized = { Querystring: { size: string } };
app.get<Sized>('/bare', async (request, reply) => reply.type('application/json').send(textOf(request.query.size)));
app.post<Sized>('/bare', async (request, reply) =>
  reply.code(201).type('application/json').send(textOf(request.query.size)),
);
await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`${(app.server.address() as AddressInfo).port}\n`);
process.on('SIGTERM', () => process.exit(0));
