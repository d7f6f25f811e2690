/**
 * Spec § Limits, § Response transfer rules: clients vanish in every phase of a request or a stream. The service
 * then frees everything that the request held: permits, followers, timers and descriptors.
 */
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PermitKind } from '../../packages/server/src/capacity/permits.ts';
import { RawSocket } from '../../packages/server/src/http/socket.fixture.ts';
import type { JobKey } from '../../packages/server/src/store/records/rows.ts';
import { loadSize, loadTimeout } from './load-size.ts';
import { ScriptedServer } from './scripted-server.ts';

const RESETS = loadSize({ small: 10, full: 1000 });
const AT_ONCE = 10;
/**
 * The number of timers and descriptors that other code in this process may make or free during a test. If every reset
 * leaked one, their number would change by more than this.
 */
const STRAY = 6;
const patient = { timeout: 60_000 };

let served: ScriptedServer;
let running: JobKey;
let ended: JobKey;
let followers = 0;

beforeAll(async () => {
  // The deadlines are long, so that even on a slow machine only the clients end their connections.
  const long = { headMilliseconds: 600_000, bodyMilliseconds: 600_000, writeProgressMilliseconds: 600_000 };
  served = await ScriptedServer.open({ bounds: { ...long, connections: 1000 } });
  countFollowers();
  running = (await served.start('running')).key;
  const large = await served.start('large');
  const content = new Uint8Array(2 * 1024 * 1024);
  const artifacts = ['output/a', 'output/b'].map((path) => ({ path, size_bytes: content.length, sha256: '', content }));
  large.cell.end({ kind: 'exited', exit_code: 0 }, { artifacts });
  await served.rig.ended(large.key);
  ended = large.key;
});
afterAll(() => served[Symbol.asyncDispose]());

/** Counts the followers that wait for news of a job, by wrapping the method with which they register. */
function countFollowers(): void {
  const { nudges } = served.rig;
  const next = nudges.next.bind(nudges);
  nudges.next = (topic, signal) => {
    const nudge = next(topic, signal);
    const isFollower = topic !== 'queue' && topic !== 'outbox';
    if (isFollower) followers++;
    return {
      arrived: nudge.arrived,
      [Symbol.dispose]() {
        if (isFollower) followers--;
        nudge[Symbol.dispose]();
      },
    };
  };
}

/** How many descriptors and timers this process holds now. */
function held() {
  const timers = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  return { descriptors: readdirSync('/proc/self/fd').length, timers };
}

const HEAD = 'Host: svc.example\r\nAuthorization: Bearer key-of-acme\r\n';
const UPGRADE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n';
const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\n${HEAD}${more}\r\n`;

interface Phase {
  readonly name: string;
  /** The bytes that the client sends before it vanishes. */
  readonly bytes: () => string | Promise<string>;
  /** The permit that a request in this phase holds. Null if the request holds none; the client then vanishes at once. */
  readonly permit: PermitKind | null;
  /** Text that the client must receive before it vanishes. Absent if it need not receive any. */
  readonly told?: string;
}

const stream = (job: () => JobKey) => () => get(`/v1/jobs/${job().job_id}/stream`, UPGRADE);
const PHASES: readonly Phase[] = [
  { name: 'before it sent anything', bytes: () => '', permit: null },
  { name: 'in the head', bytes: () => get('/v1/whoami').slice(0, -20), permit: null },
  { name: 'after a request, without waiting for its answer', bytes: () => get('/v1/jobs'), permit: null },
  {
    name: 'in the body',
    bytes: () =>
      `POST /v1/jobs HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nContent-Length: 900\r\n\r\n{"code":`,
    permit: 'body',
  },
  {
    name: 'in a wait',
    bytes: () => get(`/v1/jobs/${running.job_id}/result?wait_seconds=300`),
    permit: 'wait',
  },
  { name: 'in a transfer', bytes: () => get(`/v1/jobs/${ended.job_id}/result`), permit: 'response' },
  { name: 'in the handshake of a stream', bytes: stream(() => running), permit: null },
  {
    name: 'in the handshake of a stream with a ticket',
    bytes: async () =>
      get(`/v1/jobs/${running.job_id}/stream?ticket=${await served.ticket(running)}`, UPGRADE).replace(
        /Authorization.*\r\n/,
        '',
      ),
    permit: null,
  },
  { name: 'in a live stream', bytes: stream(() => running), permit: 'stream', told: '"started"' },
  {
    name: 'in a message to a stream',
    bytes: () => `${stream(() => running)()}\x81\xfe`,
    permit: 'stream',
    told: '"started"',
  },
];

/** Starts this many clients. Each client gets as far as the phase, and then all of them vanish together. */
async function vanish({ bytes, permit, told }: Phase, clients: number): Promise<void> {
  const sockets = await Promise.all(
    Array.from({ length: clients }, async () => {
      const sent = await bytes();
      const raw = await RawSocket.open(served.server.port);
      if (permit === 'response') raw.socket.pause();
      raw.send(sent);
      if (told !== undefined) await raw.until(() => raw.text.includes(told));
      return raw;
    }),
  );
  const arrived = () => (permit === null ? clients : served.server.permits.held(permit));
  await expect.poll(arrived, patient).toBe(clients);
  for (const raw of sockets) raw[Symbol.dispose]();
}

const KINDS: readonly PermitKind[] = ['body', 'wait', 'stream', 'response'];
const permitsHeld = () => KINDS.map((kind) => served.server.permits.held(kind));

describe('E-16: after clients have closed their connections without notice', { tags: ['E-16'] }, () => {
  test.each(PHASES)('$name, the permits of these clients are free again', loadTimeout, async (phase) => {
    await vanish(phase, AT_ONCE);
    await expect.poll(() => [...permitsHeld(), followers], patient).toEqual([0, 0, 0, 0, 0]);
    const before = held();
    for (let made = 0; made < RESETS; made += AT_ONCE) {
      await vanish(phase, AT_ONCE);
      await expect.poll(() => [...permitsHeld(), followers], patient).toEqual([0, 0, 0, 0, 0]);
    }
    await expect.poll(() => held().descriptors - before.descriptors, patient).toBeLessThan(STRAY);
    await expect.poll(() => held().timers - before.timers, patient).toBeLessThan(STRAY);
    expect((await fetch(`${served.server.url}/healthz`)).status).toBe(200);
  });

  test('the service has logged no failure', () => {
    expect(served.server.log.filter(({ level }) => Number(level) >= 40)).toEqual([]);
  });
});
