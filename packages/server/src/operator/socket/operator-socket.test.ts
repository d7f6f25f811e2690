import { statSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTestStore } from '../../../test/job-rig.ts';
import { createLog } from '../../telemetry/log/log.ts';
import { type Credentials, createCredentials } from '../credentials.ts';
import { servedCredentials } from '../served.ts';
import { isServed } from './ask-service.ts';
import { requestBytesMax } from './messages.ts';
import { OperatorSocket } from './operator-socket.ts';

const log = createLog('silent');
const reopenLog = async () => null;
const sandbox = { takePacks: async () => ({ offered: [], leftOut: [] }) };
const plain = { tenant: 'acme', principal: null, scopes: null, expires_at: null };

let scratch: string;
let dataDir: string;
let ordinal = 0;
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'svc-operator-'));
});
beforeEach(async () => {
  dataDir = join(scratch, String(ordinal++));
  await mkdir(dataDir);
});
afterAll(() => rm(scratch, { recursive: true }));

/** A service as operators see it. */
async function serving(directory = dataDir, own?: Credentials): Promise<AsyncDisposable> {
  await using parts = new AsyncDisposableStack();
  const credentials = own ?? createCredentials(parts.use(await openTestStore(directory)));
  parts.use(await OperatorSocket.open({ dataDir: directory, credentials, sandbox, reopenLog, log }));
  return parts.move();
}

async function served(directory = dataDir): Promise<Credentials> {
  const credentials = await servedCredentials(directory);
  if (credentials === null) throw new Error('nothing answers');
  return credentials;
}

/** The answer of the socket to these bytes, until it ends the connection. */
async function said(directory: string, bytes: string): Promise<string> {
  const socket = connect(join(directory, 'operator.sock'));
  socket.on('error', () => {});
  socket.write(bytes);
  return text(socket);
}

test('a running service creates, rotates, revokes and lists credentials for its operator', async () => {
  await using _service = await serving();
  const credentials = await served();
  const { key, ...first } = await credentials.create(plain);
  expect(key).toMatch(/^svc_/);
  const { key: _, ...second } = await credentials.rotate({
    credential_id: first.credential_id,
    expires_at: null,
    overlap_seconds: 0,
  });
  await credentials.revoke({ credential_id: second.credential_id });
  expect(await credentials.list({ tenant: 'acme' })).toEqual([
    { ...first, revoked_at: expect.any(String) as string },
    { ...second, revoked_at: expect.any(String) as string },
  ]);
});

test('a refusal from a running service has the same text as the refusal from a command without a service', async () => {
  await using _service = await serving();
  const credentials = await served();
  await expect(credentials.create({ ...plain, tenant: '__proto__' })).rejects.toMatchObject({
    name: 'OperatorError',
    message: 'this tenant name is not allowed',
    hint: expect.stringContaining('1 to 64') as string,
  });
});

test('a failure in the service is reported without its cause', async () => {
  const fail = () => Promise.reject(new Error('a secret of the store'));
  await using _service = await serving(dataDir, { create: fail, list: fail, rotate: fail, revoke: fail });
  const failure = await (await served()).list({ tenant: null }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ name: 'OperatorError', message: 'the service failed' });
});

test('only the owner may use the socket, and the socket is gone once the service has ended', async () => {
  {
    await using _service = await serving();
    expect(statSync(join(dataDir, 'operator.sock')).mode & 0o777).toBe(0o600);
  }
  expect((await readdir(dataDir)).filter((name) => name.includes('sock'))).toEqual([]);
  expect(await servedCredentials(dataDir)).toBeNull();
});

test('the socket works even if the data directory’s path is too long for a socket', async () => {
  const long = join(dataDir, 'd'.repeat(120));
  await mkdir(long);
  await using _service = await serving(long);
  expect(await (await served(long)).list({ tenant: null })).toEqual([]);
});

test('a socket that a killed service left is replaced, but the socket of a running service is kept', async () => {
  // Closing a server removes only the file at the path on which it listened. So a moved socket stays as a dead file.
  const dead = createServer().listen(join(dataDir, 'dead.sock'));
  await new Promise((resolve) => dead.once('listening', resolve));
  await rename(join(dataDir, 'dead.sock'), join(dataDir, 'operator.sock'));
  await new Promise((resolve) => dead.close(resolve));
  await using _service = await serving();
  expect(await (await served()).list({ tenant: null })).toEqual([]);
  const nothing = createCredentials({} as never);
  await expect(OperatorSocket.open({ dataDir, credentials: nothing, sandbox, reopenLog, log })).rejects.toMatchObject({
    name: 'StartError',
    message: expect.stringContaining('another service') as string,
  });
});

test('a connection that sends nothing is not logged, but a connection that sends half a line is logged', async () => {
  const lines: string[] = [];
  const credentials = createCredentials({} as never);
  const visited = createLog('debug', { write: (line: string) => lines.push(line) });
  {
    await using _service = await OperatorSocket.open({ dataDir, credentials, sandbox, reopenLog, log: visited });
    expect(await isServed(dataDir)).toBe(true);
    const silent = connect({ path: join(dataDir, 'operator.sock') });
    silent.end();
    expect(await text(silent)).toBe('');
    expect(lines).toEqual([]);
    const half = connect({ path: join(dataDir, 'operator.sock') });
    half.end('{"ask":');
    expect(await text(half)).toBe('');
  }
  expect(lines.join('')).toContain('the line did not end');
});

describe('an invalid request line gets no answer:', () => {
  let service: AsyncDisposable;
  let directory: string;
  beforeAll(async () => {
    directory = join(scratch, 'lines');
    await mkdir(directory);
    service = await serving(directory);
  });
  afterAll(() => service[Symbol.asyncDispose]());

  test.each([
    ['no JSON', 'hello\n'],
    ['nothing', '\n'],
    ['an unknown request', '{"ask":"drop","with":{}}\n'],
    ['a missing member', '{"ask":"revoke","with":{}}\n'],
    ['a surplus member', '{"ask":"revoke","with":{"credential_id":"a","tenant":"b"}}\n'],
    ['a member named twice', '{"ask":"list","ask":"list","with":{"tenant":null}}\n'],
    ['an overlap as text', '{"ask":"rotate","with":{"credential_id":"a","expires_at":null,"overlap_seconds":"0"}}\n'],
    ['a line without an end', 'x'.repeat(requestBytesMax + 1)],
  ])('%s', async (_name, line) => {
    expect(await said(directory, line)).toBe('');
    expect(await (await served(directory)).list({ tenant: null })).toEqual([]);
  });
});
