/**
 * Spec § Limits 13, 16: the service holds connections up to its limit. After that, a new connection takes an idle one's
 * place, and callers with a credential are served. Rows E-13 and E-26.
 */
import { connectionsMax } from '@vouchbox/protocol';
import { afterEach, describe, expect, test } from 'vitest';
import { RawSocket } from '../../packages/server/src/http/socket.fixture.ts';
import { seriesOf } from '../rig/metric-series.ts';
import { useRig } from '../rig/rig.ts';

const TOKEN = 'token-of-metrics';
const HOST = 'Host: svc.example\r\n';
/** Places that only connections with a live credential can have. */
const reservedPlaces = 64;
/** The timeout for polls. They may take long if the host does other work. */
const soon = { timeout: 20_000 };
const sleeper = { language: 'bash', code: 'echo started; sleep 300', limits: { wall_seconds: 300 } } as const;

describe('E-13 three hundred connections that never finish a request', { tags: ['E-13'] }, () => {
  // All connections come from one address, as behind a proxy, so only the bound on all connections applies.
  const rig = useRig({
    provider: 'subprocess',
    concurrency: '1',
    'metrics-token': TOKEN,
    'peer-connections-max': String(connectionsMax),
  });
  const sockets: RawSocket[] = [];
  const health = `GET /healthz HTTP/1.1\r\n${HOST}\r\n`;
  const scrape = `GET /metrics HTTP/1.1\r\n${HOST}Authorization: Bearer ${TOKEN}\r\n\r\n`;
  const whoami = () => `GET /v1/whoami HTTP/1.1\r\n${HOST}Authorization: Bearer ${rig().alpha.key}\r\n\r\n`;
  const open = async (bytes: string) => {
    const socket = await RawSocket.open(rig().port);
    sockets.push(socket);
    if (bytes !== '') socket.send(bytes);
    return socket;
  };
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket[Symbol.dispose]();
  });

  test.each([
    ['say nothing', ''],
    ['stop in their first line', 'GET /v1/jo'],
    ['stop in their headers', `GET /v1/jobs HTTP/1.1\r\n${HOST}Authorization: Bea`],
  ])(
    'and %s: the oldest are closed without an answer, while health checks and callers, old and new, are served',
    async (_name, bytes) => {
      const kept = await open(whoami());
      expect((await kept.answer()).status).toBe(200);
      // The connections are opened one after the other, so that the test knows the oldest ones.
      const others: RawSocket[] = [];
      for (let index = 0; index < 300; index += 1) others.push(await open(bytes));
      const countOpen = () => others.filter(({ isClosed }) => !isClosed).length;
      await expect.poll(countOpen, soon).toBe(connectionsMax - reservedPlaces);
      expect(others.slice(0, 300 - countOpen()).every(({ isClosed, text }) => isClosed && text === '')).toBe(true);
      for (let count = 2; count <= 20; count += 1) {
        expect((await (await open(health)).answer()).status).toBe(200);
        expect((await (await open(whoami())).answer()).status).toBe(200);
        expect((await kept.send(health).answers(count))[count - 1]?.status).toBe(200);
      }
      const { body = '' } = (await kept.send(scrape).answers(21)).at(-1) ?? {};
      expect(seriesOf(body).get('svc_http_connections_refused_total')).toBeGreaterThanOrEqual(300 - countOpen());
    },
  );
});

describe('connections from one address whose request heads are incomplete', () => {
  const rig = useRig({ provider: 'subprocess', concurrency: '1' });

  test('are kept open up to the limit for one address, and connections with a credential do not count', async () => {
    using stack = new DisposableStack();
    const open = async () => stack.use(await RawSocket.open(rig().port));
    const heads: RawSocket[] = [];
    for (let index = 0; index < 100; index += 1) heads.push((await open()).send('GET /v1/whoami HTTP/1.1\r\n'));
    const left = () => heads.filter(({ isClosed }) => !isClosed);
    await expect.poll(() => left().length, soon).toBe(64);
    const [first] = left();
    expect((await first?.send(`${HOST}Authorization: Bearer ${rig().alpha.key}\r\n\r\n`).answer())?.status).toBe(200);
    heads.push((await open()).send('G'), (await open()).send('G'));
    await expect.poll(() => left().length, soon).toBe(65);
    expect(first?.isClosed).toBe(false);
  });
});

describe('callers', () => {
  const rig = useRig({ provider: 'subprocess', concurrency: '1' });

  test('three hundred connections with a credential fill every place but the reserve', {
    tags: ['Limits-16'],
  }, async () => {
    using stack = new DisposableStack();
    const whoami = `GET /v1/whoami HTTP/1.1\r\n${HOST}Authorization: Bearer ${rig().alpha.key}\r\n\r\n`;
    const callers: RawSocket[] = [];
    for (let index = 0; index < 300; index += 1) {
      const caller = stack.use(await RawSocket.open(rig().port)).send(whoami);
      await Promise.race([caller.answer().catch(() => undefined), caller.untilClosed()]);
      callers.push(caller);
    }
    const left = callers.filter(({ isClosed }) => !isClosed).length;
    expect(left).toBeLessThanOrEqual(connectionsMax);
    expect(left).toBeGreaterThan(connectionsMax - 16);
  });
});

describe('a tenant that holds every place and uses each of its connections', () => {
  const rig = useRig({ provider: 'subprocess', concurrency: '1' });

  test("loses some of them when another tenant's callers connect", { tags: ['Limits-16', 'CROWD-04'] }, async () => {
    using stack = new DisposableStack();
    const ask = (key: string) => `GET /v1/whoami HTTP/1.1\r\n${HOST}Authorization: Bearer ${key}\r\n\r\n`;
    const { alpha, beta } = rig();
    const crowd: RawSocket[] = [];
    const open = async (key: string) => stack.use(await RawSocket.open(rig().port)).send(ask(key));
    for (let index = 0; index < connectionsMax; index += 1) crowd.push(await open(alpha.key));
    await Promise.all(crowd.map((one) => one.answer().catch(() => undefined)));
    const others: RawSocket[] = [];
    for (let index = 0; index < 20; index += 1) {
      for (const one of crowd) if (!one.isClosed) one.send(ask(alpha.key));
      const other = await open(beta.key);
      expect((await other.answer()).status).toBe(200);
      others.push(other);
    }
    const again = await Promise.all(others.map((other) => other.send(ask(beta.key)).answers(2)));
    expect(new Set(again.map(([, second]) => second?.status))).toEqual(new Set([200]));
  });
});

describe('E-26 two hundred waits by one tenant, each for the longest time', { tags: ['E-26'] }, () => {
  const rig = useRig({ provider: 'subprocess', concurrency: '1' });

  test('stay open up to the tenant’s limit and are answered when they end; more waits are refused at once', async () => {
    const { alpha, beta } = rig();
    const { job_id } = await alpha.client.submit(sleeper);
    const other = await beta.client.submit(sleeper);
    const statuses: number[] = [];
    const waits = Array.from({ length: 200 }, async () => {
      const answer = await rig().request(`/v1/jobs/${job_id}/result?wait_seconds=300`);
      statuses.push(answer.status);
      return answer;
    });
    // By default, one tenant may have 24 waits.
    await expect.poll(() => statuses.length, soon).toBe(200 - 24);
    expect(new Set(statuses)).toEqual(new Set([429]));
    // Other tenants are served without delay, and this tenant can still cancel.
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
