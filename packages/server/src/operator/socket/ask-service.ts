/** Asks a running service over its operator's socket. The other end is in `operator-socket.ts`. */
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { OperatorError } from '../operator-error.ts';
import { type OperatorAnswer, type OperatorRequest, patienceOf } from './messages.ts';
import { socketAddressOf } from './socket-address.ts';

/** Whether a service answers in this data directory. */
export async function isServed(dataDir: string): Promise<boolean> {
  const socket = await connected(dataDir).catch(() => null);
  socket?.destroy();
  return socket !== null;
}

/** The service's answer to a request. @throws OperatorError if the service refuses or does not answer in time */
export async function askService(dataDir: string, request: OperatorRequest): Promise<unknown> {
  const answer = await exchange(dataDir, request);
  if ('refused' in answer) throw new OperatorError(answer.refused.message, { hint: answer.refused.hint });
  return answer.answer;
}

async function connected(dataDir: string): Promise<Socket> {
  await using address = await socketAddressOf(dataDir);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect(address.path);
  socket.once('connect', resolve).once('error', reject);
  await promise;
  return socket;
}

async function exchange(dataDir: string, request: OperatorRequest): Promise<OperatorAnswer> {
  try {
    const socket = await connected(dataDir);
    socket.setTimeout(patienceOf(request), () => socket.destroy(new Error('it did not answer in time')));
    // The socket is not ended here, because the service answers the line and then ends the connection itself.
    socket.write(`${JSON.stringify(request)}\n`);
    return JSON.parse(await text(socket)) as OperatorAnswer;
  } catch (cause) {
    throw new OperatorError('the running service did not answer', { hint: hintFor(request), cause });
  }
}

function hintFor({ ask }: OperatorRequest): string {
  if (ask === 'reopenLog') return '`/log/keys` of the service shows which tree is open';
  return ask === 'takePacks'
    ? 'it offers the pack from its next start on; its log may say more'
    : '`vouchbox keys list` shows whether the change holds';
}
