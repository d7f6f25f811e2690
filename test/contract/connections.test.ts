/**
 * Spec § Limits, rows on connections and waits: the service holds as many connections as it may, closes one that is too
 * many at once, and goes on answering those that it has. Rows E-13 and E-26.
 */
import { connectionsMax } from '@svc/protocol';
import { afterEach, describe, expect, test } from 'vitest';
import { RawSocket } from '../../packages/server/src/http/test-socket.ts';
import { seriesOf } from '../rig/metric-series.ts';
import { useRig } from '../rig/rig.ts';

const TOKEN = 'token-of-metrics';
const HOST = 'Host: svc.example\r\n';
/** Facts that other work of the host may hold up. */
const soon = { timeout: 20_000 };
const sleeper = { language: 'bash', code: 'echo started; sleep 300', limits: { wall_seconds: 300 } } as const;

describe('E-13 three hundred connections that never finish a request', () => {
  const rig = useRig({ provider: 'subprocess', concurrency: '1', 'metrics-token': TOKEN });
  const sockets: RawSocket[] = [];
  const health = `GET /healthz HTTP/1.1\r\n${HOST}\r\n`;
  const scrape = `GET /metrics HTTP/1.1\r\n${HOST}Authorization: Bearer ${TOKEN}\r\n\r\n`;
  const open = async (bytes: string) => {
    const socket = await RawSocket.open(rig().port);
    sockets.push(socket);
    if (bytes !== '') socket.send(bytes);
    return socket;
  };
  const countOpen = () => sockets.filter(({ isClosed }) => !isClosed).length;
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket[Symbol.dispose]();
    // On a connection of its own that is gone at once: a client library would keep one, and it would count.
    await expect.poll(isServed, soon).toBe(true);
    for (const socket of sockets.splice(0)) socket[Symbol.dispose]();
  });
  const isServed = async () => {
    const next = await open(health);
    await Promise.race([next.untilClosed(), next.answer().catch(() => undefined)]);
    return next.text.startsWith('HTTP/1.1 200 OK');
  };

  test.each([
    ['say nothing', ''],
    ['stop in their first line', 'GET /v1/jo'],
    ['stop in their headers', `GET /v1/jobs HTTP/1.1\r\n${HOST}Authorization: Bea`],
  ])(
    'and %s: as many are held as may be, the next is closed without a byte, and others are served on',
    async (_name, bytes) => {
      const kept = await open('');
      expect((await kept.send(health).answer()).status).toBe(200);
      const openMany = (length: number) => Promise.all(Array.from({ length }, () => open(bytes)));
      const others = await openMany(200);
      // Used after those came to rest: on a machine that stalls for seconds it is they who would make room.
      expect((await kept.send(health).answers(2))[1]?.status).toBe(200);
      await openMany(99);
      await expect.poll(countOpen, soon).toBeLessThanOrEqual(connectionsMax);
      // Who was there before is answered as ever, and one more is refused at once: it waits for no deadline.
      const late = await open(health);
      expect(await late.untilClosed()).toEqual([]);
      for (let count = 3; count <= 20; count += 1) {
        expect((await kept.send(health).answers(count)).at(-1)?.status).toBe(200);
      }
      const { body = '' } = (await kept.send(scrape).answers(21)).at(-1) ?? {};
      expect(seriesOf(body).get('svc_http_connections_refused_total')).toBeGreaterThanOrEqual(300 - connectionsMax + 1);
      expect(countOpen()).toBeGreaterThanOrEqual(200);
      // One that goes makes room for one.
      const held = others.find(({ isClosed }) => !isClosed);
      held?.socket.resetAndDestroy();
      await expect.poll(isServed, soon).toBe(true);
    },
  );
});

describe('E-26 two hundred waits of one tenant for the longest time', () => {
  const rig = useRig({ provider: 'subprocess', concurrency: '1' });

  test('are held up to the tenant’s bound, the rest refused at once, and all that were held are answered with the end', async () => {
    const { alpha, beta } = rig();
    const { job_id } = await alpha.client.submit(sleeper);
    const other = await beta.client.submit(sleeper);
    const statuses: number[] = [];
    const waits = Array.from({ length: 200 }, async () => {
      const answer = await rig().request(`/v1/jobs/${job_id}/result?wait_seconds=300`);
      statuses.push(answer.status);
      return answer;
    });
    // The bound of one tenant, unless it is set otherwise.
    await expect.poll(() => statuses.length, soon).toBe(200 - 24);
    expect(new Set(statuses)).toEqual(new Set([429]));
    // Nobody else is held up, and the tenant itself can still relieve the service.
    expect((await rig().request('/healthz', { key: null })).status).toBe(200);
    const short = await rig().request(`/v1/jobs/${other.job_id}/result?wait_seconds=0.01`, { key: beta.key });
    expect([short.status, short.json.exit_code]).toEqual([200, null]);
    await beta.client.cancel(other.job_id);
    await alpha.client.cancel(job_id);
    const answers = await Promise.all(waits);
    const held = answers.filter(({ status }) => status !== 429);
    expect(held.map(({ status }) => status)).toEqual(Array.from({ length: 24 }, () => 200));
    expect(new Set(held.map(({ json }) => json.status))).toEqual(new Set(['cancelled']));
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.json.error).toMatchObject({ code: 'tenant_capacity_exhausted', retryable: true });
    expect(refused?.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  });
});
