/**
 * Spec § Authentication: only the Authorization header decides who is accepted. The tests try credentials as bytes on a
 * socket, tokens that point elsewhere, invalid tenant names, pages from other origins, and a model of who owns what.
 */
import { execFileSync } from 'node:child_process';
import { constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OPERATION_IDS, operationOf } from '@vouchbox/protocol';
import { loadConfig, openCredentials } from '@vouchbox/server';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { RawSocket } from '../../packages/server/src/http/socket.fixture.ts';
import { Channel } from '../../packages/server/src/store/threads/channel.ts';
import { openTokenIssuer } from '../rig/access-tokens.ts';
import { secretOf } from '../rig/credentials.ts';
import { rawExchange } from '../rig/raw-http.ts';
import { useRig } from '../rig/rig.ts';

const issuer = await openTokenIssuer();
afterAll(() => issuer[Symbol.dispose]());
const rig = useRig({ ...issuer.settings, provider: 'subprocess', 'metrics-token': 'token-of-metrics', links: 'on' });

const PLAIN = { tenant: 'alpha', principal: null, scopes: null, expires_at: null };
/** One credential of each kind, for each of two tenants. */
const keys = { alpha: [] as string[], beta: [] as string[] };
beforeAll(async () => {
  await using operator = await openCredentials({ dataDir: rig().dataDir });
  const scope = 'jobs:submit jobs:read jobs:cancel service:read metrics:read';
  for (const tenant of ['alpha', 'beta'] as const) {
    const issued = await operator.create({ ...PLAIN, tenant });
    keys[tenant] = [`key-of-${tenant}`, issued.key, await issuer.token({ tenant, scope })];
  }
});

const asked = async (lines: string) => {
  const [answer] = await rig().raw(
    Buffer.from(`GET /v1/whoami HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines}\r\n`, 'latin1'),
  );
  const { error = {} } = JSON.parse(answer?.body ?? '{}') as { error?: { code?: string } };
  return { status: answer?.status, challenge: answer?.headers['www-authenticate'], code: error.code };
};
const NOBODY = { status: 401, code: 'unauthorized', challenge: 'Bearer realm="svc"' };
const DISBELIEVED = { ...NOBODY, challenge: 'Bearer realm="svc", error="invalid_token"' };

describe('AUTH-01 the credential of a request', { tags: ['Authentication-1', 'AUTH-01'] }, () => {
  test('is required; a request without one is answered with 401 and a challenge', async () => {
    expect(await asked('')).toEqual(NOBODY);
  });

  test.each([
    ['empty', 'Authorization:\r\n', NOBODY],
    ['a scheme alone', 'Authorization: Bearer\r\n', NOBODY],
    ['another scheme', 'Authorization: Basic a2V5OmtleQ==\r\n', NOBODY],
    ['no scheme', 'Authorization: key-of-alpha\r\n', NOBODY],
    ['a tab in place of the space', 'Authorization: Bearer\tkey-of-alpha\r\n', DISBELIEVED],
    ['a token with a space', 'Authorization: Bearer key-of -alpha\r\n', DISBELIEVED],
    ['two tokens', 'Authorization: Bearer key-of-alpha, Bearer key-of-beta\r\n', DISBELIEVED],
    ['a token that is not ASCII', 'Authorization: Bearer k\xe9y\r\n', DISBELIEVED],
    ['an unknown token', 'Authorization: Bearer nobody\r\n', DISBELIEVED],
    ['a token of 10,000 characters', `Authorization: Bearer ${'a'.repeat(10_000)}\r\n`, DISBELIEVED],
    ['a part of a valid token', 'Authorization: Bearer key-of-alph\r\n', DISBELIEVED],
    ['a valid token with one more character', 'Authorization: Bearer key-of-alphaa\r\n', DISBELIEVED],
    ['a valid token in upper case', 'Authorization: Bearer KEY-OF-ALPHA\r\n', DISBELIEVED],
  ])('is refused, and is called invalid if a token was sent: %s', async (_name, line, refusal) => {
    expect(await asked(line)).toEqual(refusal);
  });

  test.each(['bearer key-of-alpha', 'BEARER key-of-alpha', 'bEARER   key-of-alpha'])(
    'is accepted with its scheme in upper or lower case and any number of spaces: %s',
    { tags: ['Authentication-1a'] },
    async (line) => {
      expect((await asked(`Authorization: ${line}\r\n`)).status).toBe(200);
    },
  );

  test('a credential of 16 KiB is refused because it makes the request head too large', async () => {
    const [answer] = await rig().raw(
      `GET /v1/whoami HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${'a'.repeat(16_384)}\r\n\r\n`,
    );
    expect(answer?.status).toBe(431);
  });

  test('two credentials are refused, even if both are the same', async () => {
    for (const second of ['key-of-alpha', 'key-of-beta']) {
      const answer = await asked(`Authorization: Bearer key-of-alpha\r\nAuthorization: Bearer ${second}\r\n`);
      expect([answer.status, answer.code]).toEqual([400, 'invalid_request']);
    }
  });
});

describe('AUTH-02 a credential outside its header', { tags: ['AUTH-02'] }, () => {
  test.each(['access_token', 'api_key', 'key', 'token', 'ticket', 'authorization'])(
    'is ignored in the query parameter %s',
    async (name) => {
      for (const path of ['/v1/whoami', '/v1/jobs', '/v1/jobs/job_1/result']) {
        const { status, headers } = await rig().request(`${path}?${name}=key-of-alpha`, { key: null });
        expect([status, headers.get('www-authenticate')]).toEqual([401, NOBODY.challenge]);
      }
    },
  );

  test('is ignored in a body, in cookies and in other headers', async () => {
    const headers = {
      cookie: 'access_token=key-of-alpha',
      'x-api-key': 'key-of-alpha',
      'proxy-authorization': 'Bearer key-of-alpha',
    };
    const form = { ...headers, 'content-type': 'application/x-www-form-urlencoded' };
    expect((await rig().post('access_token=key-of-alpha', { key: null, headers: form })).status).toBe(401);
    const members = { language: 'bash', code: 'true', access_token: 'key-of-alpha' };
    expect((await rig().post(members, { key: null, headers })).status).toBe(401);
  });
});

describe('AUTH-04 an access token whose header says where its key is', { tags: ['AUTH-04'] }, () => {
  let directory: string;
  let fifo: string;
  let connections = 0;
  const listener = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'svc-kid-'));
    fifo = join(directory, 'key');
    execFileSync('mkfifo', [fifo]);
    await new Promise<void>((resolve) => {
      listener.listen(0, '127.0.0.1', resolve);
    });
  });
  afterAll(() => {
    listener.close();
    rmSync(directory, { recursive: true });
  });

  test('makes the service open no connection and no file, whether the token is valid or not', async () => {
    const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/keys.json`;
    const up = '../'.repeat(20);
    const headers: Record<string, unknown>[] = [
      { jku: url },
      { jku: url, kid: 'two' },
      { jku: url.replace('http:', 'https:'), kid: 'two' },
      { x5u: url, kid: 'two' },
      { jku: `file://${fifo}`, kid: 'two' },
      { kid: url },
      { kid: fifo },
      { kid: `file://${fifo}` },
      { kid: `${up}${fifo.slice(1)}` },
      { kid: `${fifo}\0` },
      { kid: "' UNION SELECT 'key' --" },
      { kid: `|cat ${fifo}` },
      { jwk: { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }, kid: 'two' },
      { x5c: ['MIIB'], kid: 'two' },
    ];
    for (const header of headers) {
      const key = await issuer.token({ scope: 'jobs:read', header });
      const { status } = await rig().request('/v1/whoami', { key });
      // A token with an unknown key id is refused. Nothing else in the header has any effect.
      expect([header, status]).toEqual([header, 'kid' in header ? 401 : 200]);
    }
    expect(connections).toBe(0);
    // If anyone had opened the FIFO for reading, opening it for writing would succeed.
    expect(() => openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK)).toThrow('ENXIO');
  });
});

describe("AUTH-07 for another tenant's job and for an unknown job, the service sends its store the same queries:", {
  tags: ['AUTH-07'],
}, () => {
  const asks = vi.spyOn(Channel.prototype, 'call');
  afterAll(() => asks.mockRestore());
  const ofJobs = OPERATION_IDS.map((id) => [id, operationOf(id)] as const).filter(([, { path }]) =>
    path.includes('{id}'),
  );
  let foreign: string;
  beforeAll(async () => {
    foreign = (await rig().run({ language: 'bash', code: 'true' })).job_id;
  });

  /** The queries to the store, and their answers, when beta asks about a job. `query-plans.test.ts` compares the queries. */
  async function workFor(job_id: string, { method, path }: ReturnType<typeof operationOf>) {
    asks.mockClear();
    const to = path.replace('{id}', job_id).replace('{seq}', '1').replace('{link}', 'A'.repeat(16));
    // The service reads the body before it looks for the job.
    const body = path.includes('{seq}')
      ? { error: 'none' }
      : path.endsWith('/links') && method === 'POST'
        ? {}
        : undefined;
    const { status } = await rig().request(to, { method, key: rig().beta.key, body });
    const answers = await Promise.all(asks.mock.results.map(({ value }) => value as Promise<unknown>));
    const asked = asks.mock.calls.map(([name, input], at) => ({
      name,
      input: JSON.stringify(input ?? null)
        .replaceAll(job_id, 'ID')
        .replaceAll(/"[0-9a-f]{64}"|"20[\d-]{8}T[\d:.]{12}Z"|(?<="link_id":)"[\w-]{16}"/g, '"NEW"'),
      answer: answers[at],
    }));
    return { status, asked: asked.filter(({ input }) => /"(ID|beta)"/.test(input)) };
  }

  test.each(ofJobs)('%s', async (_id, operation) => {
    const unknown = `${foreign.slice(0, -1)}${foreign.endsWith('0') ? '1' : '0'}`;
    const work = await workFor(foreign, operation);
    expect(work).toEqual(await workFor(unknown, operation));
    expect([400, 404]).toContain(work.status);
    expect(work.asked.some(({ input }) => input.includes('ID'))).toBe(work.status === 404);
  });
});

describe('AUTH-08 a cursor', { tags: ['AUTH-08'] }, () => {
  test('a cursor that was changed, cut or made by another tenant is refused, and shows no other tenant’s jobs', async () => {
    const mine: string[] = [];
    for (let index = 0; index < 3; index++)
      mine.push((await rig().post({ language: 'bash', code: 'true' })).json.job_id);
    const foreign = (await rig().post({ language: 'bash', code: 'true' }, { key: rig().beta.key })).json
      .job_id as string;
    const cursor = (await rig().request('/v1/jobs?limit=1')).json.next_cursor as string;
    const bytes = Buffer.from(cursor, 'base64url');
    const flipped = [0, 15, 16, 20, bytes.length - 1].map((at) => {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      return changed.toString('base64url');
    });
    const named = Buffer.concat([bytes.subarray(0, 16), Buffer.from(`2027-01-01T00:00:00.000Z ${foreign}`)]);
    for (const bad of [
      ...flipped,
      named.toString('base64url'),
      cursor.slice(0, -1),
      `${cursor}A`,
      `${cursor}=`,
      foreign,
      mine[0],
      '0',
      '../..',
    ]) {
      const { status, json } = await rig().request(`/v1/jobs?cursor=${encodeURIComponent(bad ?? '')}`);
      expect([bad, status, json.error.code]).toEqual([bad, 400, 'invalid_request']);
    }
    const theirs = await rig().request(`/v1/jobs?cursor=${cursor}`, { key: rig().beta.key });
    expect(theirs.status).toBe(400);
    // The unchanged cursor leads to the tenant's own next page.
    const { json } = await rig().request(`/v1/jobs?cursor=${cursor}&limit=200`);
    const next = json.items.map(({ job_id }: { job_id: string }) => job_id) as string[];
    expect(next.slice(0, 2)).toEqual(mine.toReversed().slice(1));
    expect(next).not.toContain(foreign);
    // A replay's cursor is a number. It is valid only for the job in the address.
    const replay = await rig().request(`/v1/jobs/${foreign}/replay?after=1`);
    expect([replay.status, replay.json.error.code]).toEqual([404, 'job_not_found']);
  });
});

describe('AUTH-09 a tenant', { tags: ['AUTH-09'] }, () => {
  const names = [
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'a'.repeat(1000),
    'a/b',
    '../a',
    'a b',
    '.a',
    'é',
    '-',
  ];

  test.each(['', ...names])(
    'a tenant named %.20j is refused in the settings, in a new key and in a token',
    async (tenant) => {
      expect(() => loadConfig({}, { 'legacy-keys': `${tenant}=canary-of-key` })).toThrow(/^(?!.*canary)/);
      await using operator = await openCredentials({ dataDir: rig().dataDir });
      const before = await operator.list({ tenant: null });
      await expect(operator.create({ ...PLAIN, tenant })).rejects.toThrow(/tenant/);
      expect(await operator.list({ tenant: null })).toEqual(before);
      const key = await issuer.token({ tenant, scope: 'jobs:read' });
      expect((await rig().request('/v1/whoami', { key })).status).toBe(401);
    },
  );

  test('a tenant that contains a NUL is refused in a key and in a token, and a tenant that is no text in a token', async () => {
    await using operator = await openCredentials({ dataDir: rig().dataDir });
    await expect(operator.create({ ...PLAIN, tenant: 'a\0' })).rejects.toThrow(/tenant/);
    for (const tenant of ['a\0', 1, true, null, ['alpha'], { toString: 'alpha' }]) {
      const key = await issuer.token({ tenant, scope: 'jobs:read' });
      expect((await rig().request('/v1/whoami', { key })).status).toBe(401);
    }
  });
});

test('AUTH-14 public surfaces name no tenant, no dependency and nothing about the host', {
  tags: ['Endpoints-6', 'AUTH-14'],
}, async () => {
  const { job_id } = await rig().alpha.client.submit({ language: 'bash', code: 'true' });
  const canaries = [
    'key-of-',
    'token-of-metrics',
    rig().dataDir,
    process.cwd(),
    'alpha',
    'beta',
    job_id,
    'fastify',
    'node_modules',
    process.version,
  ];
  const open = OPERATION_IDS.map(operationOf).filter(({ access }) => access === 'public');
  for (const { path } of open) {
    const { text, headers } = await rig().request(path, { key: null });
    const told = `${[...headers].join('\n')}\n${text}`.toLowerCase();
    expect([path, canaries.filter((canary) => told.includes(canary.toLowerCase()))]).toEqual([path, []]);
    expect([headers.get('server'), headers.get('x-powered-by')]).toEqual([null, null]);
  }
});

describe('AUTH-16 a refusal repeats no credential', { tags: ['AUTH-16'] }, () => {
  test('wherever the request contained it', async () => {
    const [, key = ''] = keys.alpha;
    const secret = secretOf(key);
    const wrong = `${key}x`;
    const refusals = [
      await rig().request('/v1/whoami', { key: wrong }),
      await rig().request(`/v1/whoami?x=${key}`, { key }),
      await rig().request(`/v1/jobs?cursor=${key}`, { key }),
      await rig().request(`/v1/jobs?status=${key}`, { key }),
      await rig().request(`/v1/jobs/${key}`, { key }),
      await rig().request(`/v1/jobs/x/stream?ticket=${key}`, { key: null }),
      await rig().request(`/nowhere/${key}?key=${key}`, { key }),
      await rig().request('/v1/jobs', { key, method: 'PUT' }),
      await rig().request('/metrics', { key }),
      await rig().post('{', { key }),
      await rig().post(`{"language":"bash","code":"true","stdin":"${key}","stdin":""}`, { key }),
      await rig().post({ language: 'bash', code: key, limits: { mem_mb: 'x' } }, { key }),
      await rig().post({ language: 'bash', code: 'true' }, { key, headers: { 'idempotency-key': `${key} ${key}` } }),
    ];
    expect(refusals.filter(({ status }) => status < 400)).toEqual([]);
    for (const { text, headers } of refusals) expect(`${text}${[...headers].join('\n')}`).not.toContain(secret);
    const raw = await rawExchange(rig().port, `GET / HTTP/1.1\r\nAuthorization: Bearer ${key}\r\nA : ${key}\r\n\r\n`);
    expect(raw.toString('latin1')).toContain('invalid_request');
    expect(raw.toString('latin1')).not.toContain(secret);
  });
});

describe('AUTH-17 headers of proxies and clients beside the credential', { tags: ['AUTH-17'] }, () => {
  const claims: Record<string, string> = {
    'x-tenant': 'beta',
    'x-tenant-id': 'beta',
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-user': 'beta',
    'x-remote-user': 'beta',
    'x-forwarded-host': 'elsewhere.example',
    'x-forwarded-proto': 'https',
    'x-forwarded-prefix': '/elsewhere',
    'x-original-url': '/healthz',
    'x-rewrite-url': '/healthz',
    'x-http-method-override': 'DELETE',
    'x-http-method': 'DELETE',
    'x-method-override': 'DELETE',
    'x-request-id': 'mine',
    forwarded: 'for=beta;host=elsewhere.example;proto=https',
  };

  test('give access to nothing, and do not change tenant, method, path or request id', async () => {
    expect((await rig().request('/v1/whoami', { key: null, headers: claims })).status).toBe(401);
    const { json, headers } = await rig().request('/v1/whoami', { headers: claims });
    expect(json.tenant).toBe('alpha');
    expect(headers.get('x-request-id')).not.toBe('mine');
    const { job_id } = await rig().alpha.client.submit({ language: 'bash', code: 'true' });
    expect((await rig().request(`/v1/jobs/${job_id}`, { headers: claims })).json.cancellation_requested).toBe(false);
    const made = await rig().post({ language: 'bash', code: 'true' }, { headers: claims });
    // Addresses are relative, so they cannot contain a host from a request.
    expect(made.headers.get('location')).toBe(`/v1/jobs/${made.json.job_id}`);
    expect(made.text).not.toContain('elsewhere');
  });

  test.each(['localhost', '127.0.0.1', 'beta', 'elsewhere.example:443', '[::1]'])(
    'have no effect with the host %s',
    async (host) => {
      const [answer] = await rig().raw(
        `GET /v1/whoami HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nAuthorization: Bearer key-of-alpha\r\n\r\n`,
      );
      expect([answer?.status, JSON.parse(answer?.body ?? '{}').tenant]).toEqual([200, 'alpha']);
    },
  );
});

describe('AUTH-18 a page from another origin', { tags: ['AUTH-18'] }, () => {
  const origin = 'https://evil.example';

  test('gets an answer without a CORS header from every operation, to a preflight and to a request', {
    tags: ['Authentication-7'],
  }, async () => {
    const preflight = {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    };
    for (const { path, method } of OPERATION_IDS.map(operationOf)) {
      const at = path.replace('{id}', 'job_1');
      const answers = [
        await rig().request(at, { method: 'OPTIONS', key: null, headers: preflight }),
        await rig().request(at, { method, headers: { origin } }),
      ];
      for (const { headers } of answers) {
        expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
      }
    }
  });

  test('cannot open a stream, while a page from the same origin can', { tags: ['Authentication-7a'] }, async () => {
    const { job_id } = await rig().alpha.client.submit({ language: 'bash', code: 'true' });
    await rig().ended(job_id);
    const handshake = async (line: string) => {
      const head =
        `GET /v1/jobs/${job_id}/stream HTTP/1.1\r\nHost: svc.example\r\nAuthorization: Bearer key-of-alpha\r\n` +
        'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
      using raw = await RawSocket.open(rig().port);
      raw.send(`${head}${line}\r\n`);
      await raw.until(() => raw.text.includes('\r\n\r\n'));
      return raw.text.slice(9, 12);
    };
    for (const foreign of [
      origin,
      'null',
      'http://svc.example.evil.example',
      'http://svc.example:8080',
      'file://',
      'x',
    ]) {
      expect([foreign, await handshake(`Origin: ${foreign}\r\n`)]).toEqual([foreign, '400']);
    }
    for (const own of ['', 'Origin: http://svc.example\r\n', 'Origin: https://svc.example\r\n']) {
      expect([own, await handshake(own)]).toEqual([own, '101']);
    }
  });
});

describe('AUTH-19 the request budget', { tags: ['AUTH-19'] }, () => {
  const limited = useRig({ ...issuer.settings, provider: 'subprocess', 'rate-per-second': '0.01', 'rate-burst': '50' });

  test('is shared by all of a tenant’s principals and connections, and is separate for each tenant', async () => {
    await using operator = await openCredentials({ dataDir: limited().dataDir });
    const mine = ['key-of-alpha'];
    for (const principal of ['ann', 'bob']) {
      mine.push((await operator.create({ ...PLAIN, principal })).key, await issuer.token({ subject: principal }));
    }
    // Uses fewer connections at a time than one address may have.
    const statusesOf = async (keysOf: readonly string[], count: number) => {
      const statuses: number[] = [];
      for (let first = 0; first < count; first += 25) {
        const some = Array.from({ length: 25 }, (_, index) => keysOf[(first + index) % keysOf.length] ?? '');
        const answers = await Promise.all(some.map((key) => limited().request('/v1/whoami', { key })));
        statuses.push(...answers.map(({ status }) => status));
      }
      return statuses;
    };
    const [ofAlpha, ofBeta] = await Promise.all([statusesOf(mine, 200), statusesOf(['key-of-beta'], 50)]);
    const served = ofAlpha.filter((status) => status === 200).length;
    // The bucket gains a token every 100 seconds, so a very slow machine may serve one request more.
    expect([50, 51, 52]).toContain(served);
    expect(new Set(ofAlpha)).toEqual(new Set([200, 429]));
    expect(new Set(ofBeta)).toEqual(new Set([200]));
  });
});

describe('AUTH-20 a job', { tags: ['AUTH-20'] }, () => {
  interface Act {
    readonly what: 'submit' | 'read' | 'result' | 'replay' | 'ticket' | 'cancel' | 'list';
    readonly tenant: 'alpha' | 'beta';
    readonly principal: number;
    readonly job: number;
  }
  const acts: fc.Arbitrary<Act[]> = fc.array(
    fc.record({
      what: fc.constantFrom('submit', 'submit', 'read', 'result', 'replay', 'ticket', 'cancel', 'list'),
      tenant: fc.constantFrom('alpha', 'beta'),
      principal: fc.nat(2),
      job: fc.nat(20),
    }),
    { minLength: 10, maxLength: 25 },
  );

  test('stays with its tenant, whichever principals act and in whatever order', {
    tags: ['What-5'],
  }, async () => {
    const owners = new Map<string, string>();
    const ownedBy = (tenant: string) => [...owners].filter(([, owner]) => owner === tenant).map(([job_id]) => job_id);
    const submit = async (tenant: string, key: string) => {
      const { status, json } = await rig().post({ language: 'bash', code: 'true' }, { key });
      owners.set(json.job_id, tenant);
      return { came: status, wanted: 201 };
    };
    const list = async (tenant: string, key: string) => {
      const { json } = await rig().request('/v1/jobs?limit=200', { key });
      const listed = json.items.map(({ job_id }: { job_id: string }) => job_id) as string[];
      return { came: listed.filter((id) => owners.has(id)).toSorted(), wanted: ownedBy(tenant).toSorted() };
    };
    const perform = async ({ what, tenant, principal, job }: Act) => {
      const key = keys[tenant][principal] ?? '';
      if (what === 'submit') return await submit(tenant, key);
      if (what === 'list') return await list(tenant, key);
      const [job_id = 'job_none', owner] = [...owners][job % Math.max(1, owners.size)] ?? [];
      const paths = { read: '', result: '/result', replay: '/replay', ticket: '/stream-ticket', cancel: '' };
      const methods = { read: 'GET', result: 'GET', replay: 'GET', ticket: 'POST', cancel: 'DELETE' };
      const { status } = await rig().request(`/v1/jobs/${job_id}${paths[what]}`, { method: methods[what], key });
      const own = what === 'ticket' ? 201 : 200;
      return { came: status, wanted: owner === tenant ? own : 404 };
    };
    await fc.assert(
      fc.asyncProperty(acts, async (sequence) => {
        for (const act of sequence) {
          const { came, wanted } = await perform(act);
          expect([act, came]).toEqual([act, wanted]);
        }
      }),
      { numRuns: 20, seed: 20_260_103 },
    );
    expect(owners.size).toBeGreaterThan(20);
  });
});
