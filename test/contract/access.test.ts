/** Spec § Authentication: who gets access, and as whom. Access ends when its credential ends, without a restart. */
import { mkdtempSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SCOPES, STREAM_CLOSE_CODES } from '@vouchbox/protocol';
import { type IssuedCredential, type OpenCredentials, openCredentials } from '@vouchbox/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RawSocket } from '../../packages/server/src/http/socket.fixture.ts';
import { openTokenIssuer } from '../rig/access-tokens.ts';
import { vouchbox } from '../rig/command.ts';
import { secretOf } from '../rig/credentials.ts';
import { type Answer, Rig, useRig } from '../rig/rig.ts';

const issuer = await openTokenIssuer();
afterAll(() => issuer[Symbol.dispose]());
const rig = useRig({ ...issuer.settings, concurrency: '4' });

/**
 * How soon a change must take effect without a further request, with time for a busy machine. Spec § Authentication 8.
 */
const heededWithin = { timeout: 30_000, interval: 100 };

/** Runs `vouchbox keys` beside the running service. */
function keys(...words: string[]) {
  return vouchbox(['keys', ...words, '--data-dir', rig().dataDir]);
}

/** Manages credentials over the socket of the running service, without the command line. */
let operator: OpenCredentials;
beforeAll(async () => {
  operator = await openCredentials({ dataDir: rig().dataDir });
});

const PLAIN = { tenant: 'alpha', principal: null, scopes: null, expires_at: null };
const create = (changes: Partial<typeof PLAIN> = {}) => operator.create({ ...PLAIN, ...changes });
const rotate = (credential_id: string, overlap_seconds = 0) =>
  operator.rotate({ credential_id, expires_at: null, overlap_seconds });
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
const whoami = (key: string) => rig().request('/v1/whoami', { key });

describe('vouchbox keys', () => {
  test('issues a key that works at once on the running service, with its tenant, principal and scopes', {
    tags: ['Authentication-2'],
  }, async () => {
    const words = ['--tenant', 'alpha', '--principal', 'ci', '--scopes', 'jobs:read,service:read'];
    const { code, stdout, stderr } = await keys('create', ...words, '--json');
    expect([code, stderr]).toEqual([0, '']);
    const { key, credential_id } = JSON.parse(stdout) as IssuedCredential;
    expect((await whoami(key)).json).toEqual({
      tenant: 'alpha',
      principal: 'ci',
      auth_method: 'key',
      credential_id,
      scopes: ['jobs:read', 'service:read'],
      expires_at: null,
    });
    expect((await rig().request('/v1/status', { key })).status).toBe(200);
    expect((await rig().post({ language: 'bash', code: 'true' }, { key })).json.error.code).toBe('insufficient_scope');
  });

  test('prints only the new key on stdout, and its description on stderr', async () => {
    const { stdout, stderr } = await keys('create', '--tenant', 'alpha', '--expires-in', '12h');
    expect(stdout).toMatch(/^svc_[0-9a-f]{18}_[A-Za-z0-9_-]{43}\n$/);
    expect(stderr).toMatch(/of tenant alpha.*until 2.*key is shown only now/s);
    expect((await whoami(stdout.trim())).json.scopes).toEqual([...SCOPES]);
  });

  test('lists keys with their state and without their secrets', async () => {
    const [active, revoked, ending] = [await create(), await create(), await create()];
    await operator.revoke({ credential_id: revoked.credential_id });
    await rotate(ending.credential_id, 3600);
    const { stdout } = await keys('list', '--tenant', 'alpha');
    for (const [{ key, credential_id }, state] of [
      [active, 'active'],
      [revoked, 'revoked'],
      [ending, 'ending'],
    ] as const) {
      expect(stdout).toMatch(new RegExp(`^${credential_id} +alpha +key:${credential_id} +${state} `, 'm'));
      expect(stdout).not.toContain(secretOf(key));
    }
    expect((await keys('list', '--tenant', 'nobody', '--json')).stdout).toBe('[]\n');
  });

  test('revokes and rotates keys by the identifiers from the list', async () => {
    const { credential_id } = await create();
    const rotated = await keys('rotate', credential_id, '--overlap', '1h');
    expect((await whoami(rotated.stdout.trim())).status).toBe(200);
    expect((await keys('revoke', credential_id)).stdout).toBe(`${credential_id} is revoked\n`);
  });

  test.each<[string, number, string[]]>([
    ['a key without a tenant', 2, ['create']],
    ['a key for a tenant named __proto__', 1, ['create', '--tenant', '__proto__']],
    [
      'a key with two times of its end',
      2,
      ['create', '--tenant', 'a', '--expires-in', '1d', '--expires-at', '2031-01-01T00:00:00Z'],
    ],
    ['a key in place of an unknown key', 1, ['rotate', '0'.repeat(18)]],
  ])('refuses %s, and issues nothing', async (_name, code, words) => {
    const before = await operator.list({ tenant: null });
    const refused = await keys(...words);
    expect([refused.code, refused.stdout]).toEqual([code, '']);
    expect(refused.stderr.trim()).not.toBe('');
    expect(await operator.list({ tenant: null })).toEqual(before);
  });
});

describe('an ended key', { tags: ['Authentication-8a'] }, () => {
  test('a key is refused once it is revoked', async () => {
    const { key, credential_id } = await create();
    expect((await whoami(key)).status).toBe(200);
    await operator.revoke({ credential_id });
    await expect.poll(async () => (await whoami(key)).status, heededWithin).toBe(401);
    const refused = await whoami(key);
    expect(refused.headers.get('www-authenticate')).toBe('Bearer realm="svc", error="invalid_token"');
  });

  test('a key is refused once another key of the same principal has replaced it', async () => {
    const old = await operator.create({ ...PLAIN, principal: 'robot', scopes: ['jobs:read'] });
    const next = await rotate(old.credential_id);
    expect((await whoami(next.key)).json).toMatchObject({ principal: 'robot', scopes: ['jobs:read'] });
    await expect.poll(async () => (await whoami(old.key)).status, heededWithin).toBe(401);
  });

  test('a rotated key still works during the overlap that the operator set, and states when it expires', async () => {
    const old = await create();
    const next = await rotate(old.credential_id, 3600);
    await expect.poll(async () => (await whoami(old.key)).json.expires_at, heededWithin).toMatch(/^20/);
    expect((await whoami(next.key)).json.expires_at).toBeNull();
  });

  test('a key is refused once it has expired', async () => {
    const { key } = await operator.create({ ...PLAIN, expires_at: inSeconds(5) });
    expect((await whoami(key)).json.expires_at).toMatch(/^20.*Z$/);
    await expect.poll(async () => (await whoami(key)).status, heededWithin).toBe(401);
  });
});

test('a service accepts a key that was issued before its start, and refuses a key that was revoked before its start', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-rig-'));
  const before = await Rig.start({ provider: 'subprocess' }, dataDir);
  expect(await before.stop('kept')).toEqual([]);
  const good = (await vouchbox(['keys', 'create', '--tenant', 'gamma', '--data-dir', dataDir])).stdout.trim();
  let spoilt: IssuedCredential;
  {
    await using offline = await openCredentials({ dataDir });
    spoilt = await offline.create(PLAIN);
    await offline.revoke({ credential_id: spoilt.credential_id });
  }
  const started = await Rig.start({ provider: 'subprocess' }, dataDir);
  expect((await started.request('/v1/whoami', { key: good })).json.tenant).toBe('gamma');
  expect((await started.request('/v1/whoami', { key: spoilt.key })).status).toBe(401);
  expect(await started.stop()).toEqual([]);
});

describe('an access token', () => {
  test('gives its subject access to the tenant, with those scopes in the token that the service knows', {
    tags: ['Bodies-9', 'Authentication-2a'],
  }, async () => {
    const key = await issuer.token({ scope: 'openid jobs:read jobs:submit', subject: 'ann' });
    expect((await whoami(key)).json).toEqual({
      tenant: 'alpha',
      principal: 'ann',
      auth_method: 'jwt',
      credential_id: expect.stringMatching(/^token-\d+$/) as unknown,
      scopes: ['jobs:submit', 'jobs:read'],
      expires_at: expect.stringMatching(/^20.*\.000Z$/) as unknown,
    });
    const { json } = await rig().post({ language: 'bash', code: 'true' }, { key });
    // The tenant owns the job, no matter which of the tenant's credentials submitted it.
    expect((await rig().alpha.client.detail(json.job_id)).tenant).toBe('alpha');
    expect((await rig().request('/v1/status', { key })).json.error.code).toBe('insufficient_scope');
  });

  test.each([
    ['has expired', { lifetimeSeconds: -60 }],
    ['names no tenant', { tenant: null }],
    ['names an invalid tenant', { tenant: '__proto__' }],
  ])('a token that %s is refused', async (_name, claims) => {
    expect((await whoami(await issuer.token(claims))).status).toBe(401);
  });

  test('a changed token is refused', async () => {
    const [header = '', payload = '', signature = ''] = (await issuer.token()).split('.');
    const claims = { ...(JSON.parse(Buffer.from(payload, 'base64url').toString()) as object), tenant_id: 'beta' };
    const forged = Buffer.from(JSON.stringify(claims)).toString('base64url');
    expect((await whoami([header, forged, signature].join('.'))).status).toBe(401);
    const none = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url');
    expect((await whoami([none, payload, ''].join('.'))).status).toBe(401);
  });
});

describe('once vouchbox keys revoke has answered', { tags: ['Authentication-8'] }, () => {
  const BODY = '{"language":"bash","code":"true"}';
  const head = (key: string) => `Host: x\r\nAuthorization: Bearer ${key}\r\n`;

  test('the next request with the key is refused, although the key worked a moment before', async () => {
    for (let round = 0; round < 20; round++) {
      const { key, credential_id } = await create();
      expect((await whoami(key)).status).toBe(200);
      await operator.revoke({ credential_id });
      expect((await whoami(key)).status).toBe(401);
    }
  });

  test('a submission whose body is still arriving is answered with 401 and makes no job', {
    tags: ['Authentication-8a'],
  }, async () => {
    const { key, credential_id } = await create();
    const before = await rig().jobCount();
    using raw = await RawSocket.open(rig().port);
    const length = `Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\nExpect: 100-continue\r\n`;
    raw.send(`POST /v1/jobs HTTP/1.1\r\n${head(key)}${length}\r\n`);
    // The service is reading the body.
    await raw.until(() => raw.text.startsWith('HTTP/1.1 100 '));
    await operator.revoke({ credential_id });
    raw.send(BODY.slice(0, 5));
    await raw.until(() => raw.text.includes('"unauthorized"'));
    raw.send(BODY.slice(5));
    await raw.untilClosed();
    expect(raw.text).toContain('\r\n\r\nHTTP/1.1 401 ');
    expect(await rig().jobCount()).toBe(before);
  });

  test('an idle connection of the key is closed', async () => {
    const { key, credential_id } = await create();
    using raw = await RawSocket.open(rig().port);
    expect((await raw.send(`GET /v1/whoami HTTP/1.1\r\n${head(key)}\r\n`).answer()).status).toBe(200);
    await operator.revoke({ credential_id });
    await raw.untilClosed();
  });
});

describe('when a credential ends, its streams, waits, submissions and transfers end as well:', {
  tags: ['Authentication-8', 'Authentication-8b', 'Submit-8d', 'AUTH-12'],
}, () => {
  const sleeper = { language: 'bash', code: 'echo started; sleep 300', limits: { wall_seconds: 300 } };
  /** A job whose result is larger than the sockets' buffers. */
  const large = {
    language: 'bash',
    code: 'for i in 1 2; do head -c 2097152 /dev/urandom > output/$i; done',
    outputs: ['output/1', 'output/2'],
    limits: { max_file_mb: 8 },
  };
  let running: string;
  let ended: string;
  beforeAll(async () => {
    running = (await rig().alpha.client.submit(sleeper)).job_id;
    ended = (await rig().run(large)).job_id;
  });
  afterAll(() => rig().alpha.client.cancel(running));

  /** Opens a stream with a ticket from this credential, and waits for an event. Returns a promise of the close code. */
  async function openStream(key: string): Promise<Promise<number>[]> {
    const { json } = await rig().request(`/v1/jobs/${running}/stream-ticket`, { method: 'POST', key });
    const socket = new WebSocket(rig().service.url.replace('http', 'ws') + json.stream_url);
    const opened = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<number>();
    socket.addEventListener('message', () => opened.resolve());
    socket.addEventListener('close', ({ code }) => {
      opened.reject(new Error(`closed with ${code}`));
      closed.resolve(code);
    });
    await opened.promise;
    return [closed.promise];
  }

  /** Begins a wait for a running job. Returns a promise that tells whether the wait ended without an answer. */
  async function openWait(key: string): Promise<Promise<boolean>[]> {
    const answer = rig().request(`/v1/jobs/${running}/result?wait_seconds=60`, { key });
    // Once this later request with the same credential is answered, the service holds the wait.
    await whoami(key);
    return [
      answer.then(
        () => false,
        () => true,
      ),
    ];
  }

  /** Begins a submission that waits for its job, and returns once the job is stored. */
  async function openSubmission(key: string): Promise<Promise<Answer>[]> {
    const headers = { 'idempotency-key': `waits-${submitted.length}` };
    const waiting = rig().request('/v1/jobs?wait_seconds=60', { method: 'POST', body: sleeper, key, headers });
    // A second submission with the same idempotency key returns the stored job.
    const { json } = await rig().post(sleeper, { key, headers });
    submitted.push(json.job_id);
    return [waiting];
  }
  const submitted: string[] = [];
  afterAll(async () => {
    for (const job_id of submitted) await rig().alpha.client.cancel(job_id);
  });

  /** A reader that took the beginning of a large answer. When told to, it reads the rest and counts the bytes. */
  async function openTransfer(key: string) {
    const socket = connect({ port: rig().port, host: '127.0.0.1' });
    const pieces: Buffer[] = [];
    const begun = Promise.withResolvers<void>();
    socket.on('data', (piece: Buffer) => {
      pieces.push(piece);
      if (pieces.length === 1) socket.pause();
      begun.resolve();
    });
    socket.on('error', () => {});
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(`GET /v1/jobs/${ended}/result HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    await begun.promise;
    return async () => {
      socket.resume();
      await closed;
      const bytes = Buffer.concat(pieces);
      const bodyAt = bytes.indexOf('\r\n\r\n') + 4;
      const declared = Number(/content-length: (\d+)/i.exec(bytes.toString('latin1', 0, bodyAt))?.[1]);
      return { came: bytes.length - bodyAt, declared };
    };
  }

  /** How long the credential lasts: long enough to open everything that must end with the credential. */
  const lastingSeconds = 6;
  const ends: readonly [string, () => Promise<{ key: string; end?: () => Promise<unknown> }>][] = [
    [
      'of a revoked key',
      async () => {
        const { key, credential_id } = await create();
        return { key, end: () => operator.revoke({ credential_id }) };
      },
    ],
    [
      'of a rotated key',
      async () => {
        const { key, credential_id } = await create();
        return { key, end: () => rotate(credential_id) };
      },
    ],
    [
      'of an expired key',
      async () => ({ key: (await operator.create({ ...PLAIN, expires_at: inSeconds(lastingSeconds) })).key }),
    ],
    [
      'of an expired access token',
      async () => ({
        key: await issuer.token({ scope: 'jobs:submit jobs:read', lifetimeSeconds: lastingSeconds + 1 }),
      }),
    ],
  ];

  test.each(ends)('%s', async (_name, open) => {
    const { key, end } = await open();
    const [closed] = await openStream(key);
    const [cut] = await openWait(key);
    const [stored] = await openSubmission(key);
    const readOn = await openTransfer(key);
    await end?.();
    let code: number | undefined;
    void closed?.then((of) => {
      code = of;
    });
    await expect.poll(() => code, heededWithin).toBe(STREAM_CLOSE_CODES.credentialEnded);
    expect(await cut).toBe(true);
    const answer = (await stored) as Answer;
    expect([answer.status, answer.headers.get('connection')]).toEqual([201, 'close']);
    expect(answer.json).toEqual({
      job_id: submitted.at(-1),
      status: 'queued',
      created_at: expect.any(String),
      stream_url: expect.any(String),
      history_url: expect.any(String),
      result_url: expect.any(String),
    });
    // The reader had paused. On a connection that is still open, the reader would now get the whole rest of the answer.
    const { came, declared } = await readOn();
    expect(declared).toBeGreaterThan(5_000_000);
    expect(came).toBeLessThan(declared);
  });
});

test('request headers that name another tenant, user, address or method have no effect', async () => {
  const headers = {
    'x-tenant': 'beta',
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-user': 'beta',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'elsewhere.example',
    'x-http-method-override': 'DELETE',
    'x-original-url': '/healthz',
    forwarded: 'for=beta;host=elsewhere.example',
  };
  const { json, status } = await rig().request('/v1/whoami', { headers });
  expect([status, json.tenant]).toEqual([200, 'alpha']);
  expect((await rig().request('/v1/whoami', { key: null, headers })).status).toBe(401);
});
