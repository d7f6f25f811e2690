/** Ways out of a cell through the network. None of them may work. */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { HostileCase } from './hostile-case.ts';
import { answersOf, assertExited, assertRefused } from './seen.ts';

/** Listens on every address of this host and counts the connections and datagrams that reach it. */
async function listen(): Promise<AsyncDisposable & { readonly port: number; readonly reached: () => number }> {
  let reached = 0;
  const stream = createServer((socket) => {
    reached++;
    socket.destroy();
  }).listen(0, '::');
  await once(stream, 'listening');
  const { port } = stream.address() as AddressInfo;
  const datagram = createSocket({ type: 'udp6', ipv6Only: false }).on('message', () => reached++);
  datagram.bind(port, '::');
  await once(datagram, 'listening');
  return {
    port,
    reached: () => reached,
    async [Symbol.asyncDispose]() {
      datagram.close();
      stream.close();
      await once(stream, 'close');
    },
  };
}

/** Every address of this host, and the address at which a cloud keeps its secrets. */
function addresses(): string[] {
  const own = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
  return [...new Set(['127.0.0.1', '::1', '169.254.169.254', ...own])];
}

export const networkCases: readonly HostileCase[] = [
  {
    id: 'ESC-21',
    title: 'a program reaches no listener on any address of this host',
    holds: 'a network namespace without interfaces, no socket family but AF_UNIX',
    accepted: {
      gvisor: 'TCP and UDP reach the loopback of gVisor’s own network stack, where only the program listens',
    },
    async scenario(target) {
      await using listener = await listen();
      const targets = JSON.stringify(addresses().map((address) => [address, listener.port]));
      const seen = await target.attack({
        program: 'network.py',
        values: { TARGETS: targets },
      });
      assertExited(seen);
      const { answers, interfaces, abstract } = answersOf<{
        answers: Record<string, string>;
        interfaces: string[];
        abstract: string[];
      }>(seen);
      const within = target.hostileClass === 'namespace' ? /^$/ : /^udp (127\.0\.0\.1|::1) /;
      assertRefused(Object.fromEntries(Object.entries(answers).filter(([name]) => !within.test(name))));
      assert.ok(Object.keys(answers).length >= 2 * addresses().length);
      assert.deepEqual({ interfaces, abstract }, { interfaces: ['lo'], abstract: [] });
      assert.equal(listener.reached(), 0);
      assert.deepEqual(seen.posture.networking, 'disabled');
      await reachItOurselves(listener.port);
      assert.equal(listener.reached(), 1, 'the listener counts nothing');
    },
  },
];

/** Checks that the counter works: it must count one connection from this process. */
async function reachItOurselves(port: number): Promise<void> {
  const { connect } = await import('node:net');
  await once(connect({ port, host: '127.0.0.1' }), 'close');
}
