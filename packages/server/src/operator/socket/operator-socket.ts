/**
 * The operator's way into a running service: a Unix socket in the data directory that only the service's own user and root may
 * open. The store belongs to the process that serves it, so commands that change credentials ask that process, and every change
 * takes effect from the next request on. No credential is needed, because whoever may open the socket may also read the store.
 */
import { rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { StartError } from '../../ground/start-error.ts';
import { parseStrictJson } from '../../ground/strict-json.ts';
import type { TakenPacks } from '../../sandbox/packs/load-packs.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { Credentials } from '../credentials.ts';
import { OperatorError } from '../operator-error.ts';
import {
  type OperatorAnswer,
  type OperatorRequest,
  patienceMilliseconds,
  patienceOf,
  requestBytesMax,
} from './messages.ts';
import { isOperatorRequest } from './operator-request.ts';
import { type SocketAddress, socketAddressOf } from './socket-address.ts';

/** The most connections at once. Operators are few. */
const connectionsMax = 8;
/** The umask under which the socket's file is made. It leaves permissions only to the file's owner. */
const OWNER_ONLY = 0o177;

/** The parts of the service that an operator's requests reach. */
interface Operated {
  readonly credentials: Credentials;
  readonly sandbox: {
    /** Looks at the runtime packs again. */
    takePacks(log: Log): Promise<TakenPacks>;
  };
  /** Opens the next tree of the log. */
  readonly reopenLog: () => Promise<unknown>;
  readonly log: Log;
}

export interface OperatorSocketOptions extends Operated {
  readonly dataDir: string;
}

/** An open socket. Disposing it ends its connections and removes its file. */
export class OperatorSocket implements AsyncDisposable {
  readonly #server: Server;
  readonly #address: SocketAddress;
  readonly #connections = new Set<Socket>();

  private constructor(server: Server, address: SocketAddress) {
    this.#server = server;
    this.#address = address;
    server.on('connection', (socket) => {
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
    });
  }

  /**
   * Begins to listen. The data directory must exist.
   *
   * @throws StartError if another service answers on the socket, or if no socket can be made
   */
  static async open({ dataDir, ...operated }: OperatorSocketOptions): Promise<OperatorSocket> {
    await using opening = new AsyncDisposableStack();
    try {
      const address = opening.use(await socketAddressOf(dataDir));
      await removeLeftover(address.path, dataDir);
      const server = createServer((socket) => void serve(socket, operated));
      server.maxConnections = connectionsMax;
      await listenAlone(server, address.path);
      opening.move();
      return new OperatorSocket(server, address);
    } catch (cause) {
      if (cause instanceof StartError) throw cause;
      const { code } = cause as NodeJS.ErrnoException;
      throw new StartError(`no operator's socket can be made in ${dataDir}: ${code ?? 'unknown'}`, { cause });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#connections) socket.destroy();
    await closed;
    await rm(this.#address.path, { force: true });
    await this.#address[Symbol.asyncDispose]();
  }
}

/** Removes a socket that a killed process left. Nobody answers on it, and it must go before another process can listen. */
async function removeLeftover(path: string, dataDir: string): Promise<void> {
  if (await isAnswering(path)) throw new StartError(`another service uses the data directory ${dataDir}`);
  await rm(path, { force: true });
}

function isAnswering(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(path);
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}

/** Listens, with these permissions for the socket's file. No other code on this thread can run before `listen` makes the file. */
function listenAlone(server: Server, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const mask = process.umask(OWNER_ONLY);
  try {
    server.once('error', reject).listen(path, resolve);
  } finally {
    process.umask(mask);
  }
  return promise.finally(() => server.off('error', reject));
}

async function serve(socket: Socket, operated: Operated): Promise<void> {
  socket.setTimeout(patienceMilliseconds, () => socket.destroy());
  try {
    const line = await lineOf(socket);
    if (line === null) return;
    const asked = await requestOf(line);
    socket.setTimeout(patienceOf(asked));
    socket.end(`${JSON.stringify(await answerTo(asked, operated))}\n`);
  } catch (error) {
    operated.log.warn({ err: error }, 'an operator could not be answered');
    socket.destroy();
  }
}

async function requestOf(line: Buffer): Promise<OperatorRequest> {
  const asked = await parseStrictJson(line);
  if (!isOperatorRequest(asked)) throw new Error('the line is not a known request');
  return asked;
}

async function answerTo(asked: OperatorRequest, operated: Operated): Promise<OperatorAnswer> {
  const { credentials, sandbox, log } = operated;
  try {
    if (asked.ask === 'reopenLog') return { answer: await operated.reopenLog() };
    if (asked.ask === 'takePacks') return { answer: await sandbox.takePacks(log) };
    const answer: object = await credentials[asked.ask](asked.with as never);
    const { credential_id } = answer as { readonly credential_id?: string };
    if (asked.ask !== 'list') log.info({ credential_id, operator: asked.ask }, 'a credential was changed');
    return { answer };
  } catch (error) {
    if (error instanceof OperatorError) return { refused: { message: error.message, hint: error.hint } };
    log.error({ err: error, operator: asked.ask }, 'a request of the operator failed');
    return { refused: { message: 'the service failed', hint: 'its log says how' } };
  }
}

/**
 * The bytes before the first newline. Null if the other side sends nothing because it only wanted to know whether a
 * service is here. Rejects if there are too many bytes or the line does not end.
 */
async function lineOf(socket: Socket): Promise<Buffer | null> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    const end = piece.indexOf(0x0a);
    pieces.push(end < 0 ? piece : piece.subarray(0, end));
    size += piece.length;
    if (size > requestBytesMax) throw new Error(`the line is longer than ${requestBytesMax} bytes`);
    if (end >= 0) return Buffer.concat(pieces);
  }
  if (size > 0) throw new Error('the line did not end');
  socket.destroy();
  return null;
}
