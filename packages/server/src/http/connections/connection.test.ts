import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { peerOf, resetConnection } from './connection.ts';

/** Both ends of a connection. */
async function connected() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [socket] = (await accepted) as [Socket];
  server.close();
  const errors: Error[] = [];
  socket.on('error', (error) => errors.push(error));
  return { socket, client, errors };
}

test.each([
  ['that is open', () => undefined, 'ECONNRESET'],
  ['that has much to send and then ends', (socket: Socket) => socket.end(Buffer.alloc(2 ** 25)), 'ECONNRESET'],
  ['that has just ended', (socket: Socket) => socket.end(), null],
])('closing a connection %s takes effect at once and causes no error', async (_what, prepare, seen) => {
  const { socket, client, errors } = await connected();
  client.pause();
  const failure = new Promise<NodeJS.ErrnoException | null>((resolve) => {
    client.on('error', resolve).on('end', () => resolve(null));
  });
  prepare(socket);
  // For the case `that has just ended`, the reset comes in the tick in which the connection's end is on its way to the kernel.
  process.nextTick(() => process.nextTick(() => resetConnection(socket)));
  await once(socket, 'close');
  expect(errors).toEqual([]);
  client.resume();
  expect((await failure)?.code ?? null).toBe(seen);
  client.destroy();
});

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:DB8::9', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['', ''],
])('the address %j is counted as the peer %j', (address, peer) => {
  expect(peerOf(address)).toBe(peer);
});
