/** Spec § Authentication: no log contains a key, token, ticket, code or stdin, and nothing stored contains a key. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createServiceClient } from '@vouchbox/client';
import { OPERATION_IDS, operationOf } from '@vouchbox/protocol';
import { type IssuedCredential, openCredentials } from '@vouchbox/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTokenIssuer } from '../rig/access-tokens.ts';
import { Command } from '../rig/command.ts';
import { secretOf } from '../rig/credentials.ts';

const LEGACY_KEY = 'canary-of-legacy-key';
const METRICS_TOKEN = 'canary-of-metrics-token';

let dataDir: string;
let log: string;
let stored: Buffer;
/** Secrets. No entry from either list may appear in the log, and no entry from `credentials` in the store. */
const credentials: string[] = [LEGACY_KEY, METRICS_TOKEN];
const ofPrograms = ['canary-of-code', 'canary-of-stdin', 'canary-of-file', 'canary-of-output'];
let requestIds: string[];

interface Init {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Uses the whole contract once, in valid and invalid requests, with a secret in every place where a caller can put one. */
async function useEverything(url: string, issued: IssuedCredential, token: string): Promise<void> {
  const ids: string[] = [];
  const ask = async (path: string, key: string, init: Init = {}) => {
    const response = await fetch(url + path, { ...init, headers: { authorization: `Bearer ${key}`, ...init.headers } });
    ids.push(response.headers.get('x-request-id') ?? 'none');
    return response.text();
  };
  const post = (key: string, body: unknown, headers: Record<string, string> = {}) =>
    ask('/v1/jobs', key, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
  const spec = {
    language: 'bash',
    code: 'echo canary-of-output; cat; cat input/a >&2; : canary-of-code',
    stdin: 'canary-of-stdin',
    files: [{ path: 'input/a', content_base64: Buffer.from('canary-of-file').toString('base64') }],
  };
  for (const key of [issued.key, token, LEGACY_KEY]) {
    const client = createServiceClient({ baseUrl: url, apiKey: key });
    const { job_id } = await client.submit(spec);
    expect((await client.waitForResult(job_id)).stdout).toContain('canary-of-output');
    for await (const _event of client.follow(job_id));
    for (const operation of OPERATION_IDS.map(operationOf)) {
      const path = operation.path.replace('{id}', job_id);
      if (operation.method !== 'POST') await ask(path, key, { method: operation.method });
    }
    const ticket = JSON.parse(await ask(`/v1/jobs/${job_id}/stream-ticket`, key, { method: 'POST' })) as {
      ticket: string;
      stream_url: string;
    };
    credentials.push(ticket.ticket);
    await streamed(url, ticket.stream_url);
    // Sends a spent ticket first, then credentials in every place and form that the service refuses.
    await ask(ticket.stream_url, 'none');
    await ask(`/v1/jobs?api_key=${key}`, key);
    await ask(`/v1/whoami?ticket=${ticket.ticket}`, 'none');
    await ask(`/nowhere/${key}?token=${key}`, key);
    await ask('/metrics', key);
    await ask('/metrics', METRICS_TOKEN);
    await post(key, { ...spec, surplus: key });
    await post(key, `{"language":"bash","code":"canary-of-code","code":"${key}"`);
    await post(key, { ...spec, language: 'canary-of-code' });
    await post(key, spec, { 'idempotency-key': `once-${credentials.length}` });
    await post(key, { ...spec, stdin: '' }, { 'idempotency-key': `once-${credentials.length}` });
    await post(key, spec, { 'content-encoding': 'gzip' });
    await raw(url, `GET /v1/whoami?token=${key} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nA : b\r\n\r\n`);
    await raw(
      url,
      `GET /v1/whoami HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nAuthorization: ${key}\r\n\r\n`,
    );
  }
  for (const wrong of [`${issued.key}x`, `x${token}`, issued.key.replace('svc_', 'svc_0'), `${token.slice(0, -2)}AA`]) {
    credentials.push(wrong);
    await ask('/v1/whoami', wrong);
  }
  requestIds = ids;
}

async function streamed(url: string, stream_url: string): Promise<void> {
  const socket = new WebSocket(url.replace('http', 'ws') + stream_url);
  await new Promise((resolve) => socket.addEventListener('close', resolve));
}

async function raw(url: string, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.end(bytes);
  return text(socket);
}

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'svc-secrets-'));
  using issuer = await openTokenIssuer();
  const settings = { ...issuer.settings, 'metrics-token': METRICS_TOKEN, 'legacy-keys': `alpha=${LEGACY_KEY}` };
  const quick = {
    port: '0',
    provider: 'subprocess',
    'data-dir': dataDir,
    'log-level': 'trace',
    'rate-burst': '100000',
  };
  const flags = Object.entries({ ...settings, ...quick }).flatMap(([flag, value]) => [`--${flag}`, value]);
  await using command = new Command(['serve', ...flags]);
  const [, url = ''] = await command.shows(/listening on (\S+)/);
  await using operator = await openCredentials({ dataDir });
  const issued = await operator.create({ tenant: 'alpha', principal: null, scopes: null, expires_at: null });
  const token = await issuer.token({ scope: 'jobs:read jobs:submit jobs:cancel service:read metrics:read' });
  credentials.push(issued.key, secretOf(issued.key), token);
  await useEverything(url, issued, token);
  const spare = await operator.rotate({ credential_id: issued.credential_id, expires_at: null, overlap_seconds: 60 });
  credentials.push(spare.key);
  command.kill('SIGTERM');
  const { code, stderr, stdout } = await command.ended();
  expect(code).toBe(0);
  log = stderr + stdout;
  stored = Buffer.concat(
    readdirSync(dataDir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name))),
  );
});
afterAll(() => rmSync(dataDir, { recursive: true }));

interface Line {
  readonly msg: string;
  readonly request_id?: string;
}

describe('the log of all requests', { tags: ['AUTH-16'] }, () => {
  test('has one JSON object per line, and one line with the id of each request', () => {
    const lines = log
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Line);
    const answered = lines.filter(({ msg }) => msg === 'request answered').map(({ request_id }) => request_id);
    expect(new Set(answered).size).toBe(answered.length);
    expect(requestIds.length).toBeGreaterThan(90);
    expect(requestIds.filter((id) => !answered.includes(id))).toEqual([]);
  });

  test('has no key, token or ticket, valid or not', { tags: ['AUTH-02'] }, () => {
    expect(credentials.filter((secret) => log.includes(secret))).toEqual([]);
  });

  test('has no code, stdin, file or output of a program', () => {
    expect(ofPrograms.filter((secret) => log.includes(secret))).toEqual([]);
  });
});

describe('the data directory after all requests', { tags: ['AUTH-16'] }, () => {
  test('contains the programs of the stored jobs', () => {
    expect(ofPrograms.filter((content) => !stored.includes(content))).toEqual([]);
  });

  test('has no key, token or ticket', () => {
    expect(credentials.filter((secret) => stored.includes(secret))).toEqual([]);
  });
});
