/** The witness over HTTP: takes requests to `add-checkpoint`, and shows each log's last signed head. Anyone may call it. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { logProofBytesMax, noteText, readUpTo } from '@vouchbox/evidence';
import { addCheckpoint, type Witness, type WitnessAnswer } from './add-checkpoint.ts';

const connectionsMax = 64;
const requestMilliseconds = 10_000;
const TEXT = 'text/plain; charset=utf-8';

export interface WitnessServer extends AsyncDisposable {
  readonly url: string;
}

/** Starts a server that listens until it is disposed of. Rejects if the server cannot listen. */
export async function openWitness(
  witness: Witness,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<WitnessServer> {
  let turn: Promise<unknown> = Promise.resolve();
  // Requests take turns. Otherwise, two heads that arrive at once would both be compared with the same earlier head.
  const inTurn = (body: Uint8Array) => {
    const answer = turn.then(() => addCheckpoint(body, witness));
    turn = answer.catch(() => {});
    return answer;
  };
  const server = createServer((request, response) => {
    void answerTo(request, { witness, inTurn })
      .catch((): WitnessAnswer => ({ status: 500, body: 'the witness failed\n' }))
      .then((answer) => send(response, answer));
  });
  server.maxConnections = connectionsMax;
  server.requestTimeout = requestMilliseconds;
  server.headersTimeout = requestMilliseconds;
  server.timeout = requestMilliseconds;
  await listening(server, host, port);
  const address = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function listening(server: Server, host: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject).listen(port, host, resolve);
  return promise.finally(() => server.off('error', reject));
}

interface Answering {
  readonly witness: Witness;
  readonly inTurn: (body: Uint8Array) => Promise<WitnessAnswer>;
}

async function answerTo(request: IncomingMessage, { witness, inTurn }: Answering): Promise<WitnessAnswer> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://witness');
  if (pathname === '/add-checkpoint') {
    if (request.method !== 'POST') return { status: 405, body: 'only POST is answered\n' };
    const body = await readUpTo(request, logProofBytesMax);
    return body === null ? { status: 413, body: 'the request is too large\n' } : await inTurn(body);
  }
  const head = pathname === '/checkpoint' ? witness.state.head(searchParams.get('origin') ?? '') : null;
  return head === null ? { status: 404, body: 'nothing is here\n' } : { status: 200, body: noteText(head.note) };
}

function send(response: ServerResponse, { status, body, mediaType = TEXT }: WitnessAnswer): void {
  // The rest of a refused request is not read.
  if (status === 413) response.setHeader('connection', 'close');
  response.writeHead(status, { 'content-type': mediaType, 'content-length': Buffer.byteLength(body) }).end(body);
}
