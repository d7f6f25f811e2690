import { expect, test } from 'vitest';
import { StartError } from '../../ground/start-error.ts';
import { openDoor } from '../door.fixture.ts';

test('port 0 picks a free port, and the address is returned', async () => {
  await using door = await openDoor();
  expect(door.url).toBe(`http://127.0.0.1:${door.port}`);
  expect((await fetch(`${door.url}/healthz`)).status).toBe(200);
});

test.each([
  ['the port is in use', (port: number) => ({ host: '127.0.0.1', port })],
  ['this host has no such address', () => ({ host: '203.0.113.7', port: 0 })],
])('if %s, the start ends with one line that says so and what to do', async (says, address) => {
  await using first = await openDoor();
  const failure = await openDoor({ address: address(first.port) }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(StartError);
  expect((failure as StartError).message).toContain(says);
  expect((failure as StartError).message).not.toContain('\n');
  expect((failure as StartError).hint).toContain('SERVICE_');
});

test('the bounds of every connection are in the log from the start', { tags: ['Limits-26'] }, async () => {
  await using door = await openDoor();
  expect(door.log.find((line) => line['msg'] === 'transport bounds')).toMatchObject({
    bounds: { connections: 256, headMilliseconds: 30_000, connectionMilliseconds: 600_000 },
  });
});

test('a request is one line of the log: its id, its route and its caller, never the target or the key', async () => {
  await using door = await openDoor();
  const headers = { authorization: 'Bearer key-of-acme' };
  const response = await fetch(`${door.url}/v1/jobs?cursor=top-secret`, { headers });
  await expect.poll(() => door.log.filter((line) => line['msg'] === 'request answered')).toHaveLength(1);
  expect(door.log.find((line) => line['msg'] === 'request answered')).toMatchObject({
    request_id: response.headers.get('x-request-id'),
    method: 'GET',
    route: '/v1/jobs',
    status: 200,
    tenant: 'acme',
  });
  expect(JSON.stringify(door.log)).not.toMatch(/top-secret|key-of-acme/);
});
