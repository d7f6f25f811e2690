/** The credentials of a running service, asked over its operator's socket: the other end of `operator-socket.ts`. */
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Credentials } from './credentials.ts';
import { OperatorError } from './operator-error.ts';
import { type OperatorAnswer, type OperatorRequest, patienceMilliseconds } from './socket/messages.ts';
import { socketAddressOf } from './socket/socket-address.ts';

/** Whether a service answers in this data directory. */
export async function isServed(dataDir: string): Promise<boolean> {
  const socket = await connected(dataDir).catch(() => null);
  socket?.destroy();
  return socket !== null;
}

/** Null if no service answers in this data directory. Its methods reject with `OperatorError`. */
export async function servedCredentials(dataDir: string): Promise<Credentials | null> {
  if (!(await isServed(dataDir))) return null;
  // The service runs the same code on its store, so its answers have the types of these methods.
  const asking =
    <Ask extends OperatorRequest['ask']>(ask: Ask) =>
    async (details: Parameters<Credentials[Ask]>[0]) =>
      (await asked(dataDir, { ask, with: details } as OperatorRequest)) as never;
  return { create: asking('create'), list: asking('list'), rotate: asking('rotate'), revoke: asking('revoke') };
}

async function connected(dataDir: string): Promise<Socket> {
  await using address = await socketAddressOf(dataDir);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect(address.path);
  socket.once('connect', resolve).once('error', reject);
  await promise;
  return socket;
}

async function asked(dataDir: string, request: OperatorRequest): Promise<unknown> {
  const answer = await exchange(dataDir, request);
  if ('refused' in answer) throw new OperatorError(answer.refused.message, { hint: answer.refused.hint });
  return answer.answer;
}

async function exchange(dataDir: string, request: OperatorRequest): Promise<OperatorAnswer> {
  try {
    const socket = await connected(dataDir);
    socket.setTimeout(patienceMilliseconds, () => socket.destroy(new Error('it did not answer in time')));
    // Not ended: the service answers the line and ends the connection itself.
    socket.write(`${JSON.stringify(request)}\n`);
    return JSON.parse(await text(socket)) as OperatorAnswer;
  } catch (cause) {
    throw new OperatorError('the running service did not answer', {
      hint: '`vouchbox keys list` shows whether the change holds',
      cause,
    });
  }
}
