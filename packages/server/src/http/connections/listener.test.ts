import { expect, test } from 'vitest';
import { StartError } from '../../ground/start-error.ts';
import { openServer } from '../server.fixture.ts';
import { RawSocket } from '../socket.fixture.ts';

test('port 0 picks a free port, and the address is returned', async () => {
  await using server = await openServer();
  expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
});

test.each([
  ['the port is in use', (port: number) => ({ host: '127.0.0.1', port })],
  ['this host has no such address', () => ({ host: '203.0.113.7', port: 0 })],
])('if %s, the start fails with one line that names the problem and the remedy', async (says, address) => {
  await using first = await openServer();
  const failure = await openServer({ address: address(first.port) }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(StartError);
  expect((failure as StartError).message).toContain(says);
  expect((failure as StartError).message).not.toContain('\n');
  expect((failure as StartError).hint).toContain('SERVICE_');
});

test('at the start, the log states the bounds that hold for every connection', { tags: ['Limits-26'] }, async () => {
  await using server = await openServer();
  expect(server.log.find((line) => line['msg'] === 'transport bounds')).toMatchObject({
    bounds: { connections: 256, headMilliseconds: 30_000, connectionMilliseconds: 600_000 },
  });
});

test('a request makes one log line, which has its id, route and caller, but not its target and key', async () => {
  await using server = await openServer();
  const headers = { authorization: 'Bearer key-of-acme' };
  const response = await fetch(`${server.url}/v1/jobs?cursor=top-secret`, { headers });
  await expect.poll(() => server.log.filter((line) => line['msg'] === 'request answered')).toHaveLength(1);
  expect(server.log.find((line) => line['msg'] === 'request answered')).toMatchObject({
    request_id: response.headers.get('x-request-id'),
    method: 'GET',
    route: '/v1/jobs',
    status: 200,
    tenant: 'acme',
  });
  expect(JSON.stringify(server.log)).not.toMatch(/top-secret|key-of-acme/);
});

test('a client that resets its connection during a refused CONNECT causes no error', async () => {
  await using server = await openServer();
  for (let count = 0; count < 20; count += 1) {
    using raw = await RawSocket.open(server.port);
    raw.send('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n');
    raw.socket.resetAndDestroy();
  }
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
});

const POST_IN_CHUNKS =
  'POST /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer key-of-acme\r\n' +
  'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';

test('a request is answered 400 if its body stops being valid HTTP', async () => {
  await using server = await openServer();
  using raw = await RawSocket.open(server.port);
  raw.send(POST_IN_CHUNKS);
  await expect.poll(() => server.permits.held('body')).toBe(1);
  raw.send('no size\r\n');
  const [answer] = await raw.untilClosed();
  expect(answer).toMatchObject({ status: 400, headers: { connection: 'close' } });
  expect(JSON.parse(answer?.body ?? '')).toMatchObject({ error: { code: 'invalid_request' } });
  await expect.poll(() => server.permits.held('body')).toBe(0);
});

test('a malformed request behind an unanswered one closes the connection, and neither is answered', async () => {
  const asked = Promise.withResolvers<void>();
  const list = () => {
    asked.resolve();
    return new Promise<never>(() => {});
  };
  await using server = await openServer({ jobs: { list } });
  using raw = await RawSocket.open(server.port);
  raw.send('GET /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer key-of-acme\r\n\r\n');
  await asked.promise;
  raw.send('no request\r\n\r\n');
  expect(await raw.untilClosed()).toEqual([]);
});
