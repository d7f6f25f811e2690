/** The permits that a request holds while it is in flight: how many there may be, and when each is returned. */

import { setTimeout as delay } from 'node:timers/promises';
import type { JobDetail } from '@vouchbox/protocol';
import { pino } from 'pino';
import { describe, expect } from 'vitest';
import { slowTest, quickTest as test } from '../../../../test/rig/form.ts';
import type { CredentialKind } from '../access/authenticate.ts';
import type { PermitKind } from '../capacity/permits.ts';
import type { Caller } from '../ground/caller.ts';
import type { JsonText } from '../ground/json-text.ts';
import { ServiceError } from '../ground/service-error.ts';
import type { Jobs } from '../job/jobs.ts';
import { LINK, SECRET_OF_LINK } from './links.fixture.ts';
import { BLOB, bearer, credentialWith, JOB, KEY_OF_OTHER, openServer, RESULT, resultOf } from './server.fixture.ts';
import { type RawAnswer, RawSocket } from './socket.fixture.ts';
import { AuthorityWatch } from './stream/authority.ts';

const HEAD = 'Host: svc.example\r\nAuthorization: Bearer key-of-acme\r\n';
const WAIT = `GET /v1/jobs/${JOB}/result?wait_seconds=60 HTTP/1.1\r\n${HEAD}\r\n`;
const RESULT_NOW = `GET /v1/jobs/${JOB}/result HTTP/1.1\r\n${HEAD}\r\n`;
const OTHER = HEAD.replace('key-of-acme', KEY_OF_OTHER);
const BODY = `POST /v1/jobs HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{`;

/** Jobs whose waits are endless, and whose results do not fit into the kernel's buffers. */
const HOLDING: Partial<Jobs> = {
  result: async (_caller, _id, { waitSeconds, signal }) => {
    if (waitSeconds > 0) await delay(60_000, null, { signal });
    return resultOf({ ...RESULT, stdout: 'x'.repeat(16 * 1024 * 1024) });
  },
};

function refusalIn({ status, headers, body }: RawAnswer) {
  const { error } = JSON.parse(body) as { error: { code: string } };
  return { status, retryAfter: headers['retry-after'], code: error.code };
}

describe.each<[PermitKind, string]>([
  ['body', BODY],
  ['wait', WAIT],
  ['response', RESULT_NOW],
])('permits of the kind %s', (kind, bytes) => {
  const hold = async (port: number) => {
    const raw = await RawSocket.open(port);
    raw.socket.pause();
    return raw.send(bytes);
  };
  const ask = async (port: number) => {
    using raw = await RawSocket.open(port);
    return refusalIn(await raw.send(bytes).answer());
  };

  test('a tenant holds permits up to its bound, the next is refused with 429, and a returned permit makes room', {
    tags: ['E-14'],
  }, async () => {
    await using server = await openServer({ jobs: HOLDING, permits: { [kind]: { total: 10, perTenant: 2 } } });
    using first = await hold(server.port);
    using _second = await hold(server.port);
    await expect.poll(() => server.permits.held(kind)).toBe(2);
    expect(await ask(server.port)).toEqual({ status: 429, retryAfter: '1', code: 'tenant_capacity_exhausted' });
    first[Symbol.dispose]();
    await expect.poll(() => server.permits.held(kind)).toBe(1);
    using _third = await hold(server.port);
    await expect.poll(() => server.permits.held(kind)).toBe(2);
  });

  test('the service grants permits up to its bound, and refuses the next with 503', {
    tags: ['Errors-18'],
  }, async () => {
    await using server = await openServer({ jobs: HOLDING, permits: { [kind]: { total: 1, perTenant: 10 } } });
    using _held = await hold(server.port);
    await expect.poll(() => server.permits.held(kind)).toBe(1);
    expect(await ask(server.port)).toEqual({ status: 503, retryAfter: '1', code: 'capacity_exhausted' });
  });

  test('a tenant without permits takes over the oldest permit of the tenant with the most', {
    tags: ['Errors-18a', 'CROWD-01'],
  }, async () => {
    await using server = await openServer({ jobs: HOLDING, permits: { [kind]: { total: 2, perTenant: 2 } } });
    using first = await hold(server.port);
    await expect.poll(() => server.permits.held(kind)).toBe(1);
    using second = await hold(server.port);
    await expect.poll(() => server.permits.held(kind)).toBe(2);
    first.socket.on('error', () => {}).resume();
    using other = await RawSocket.open(server.port);
    other.socket.pause();
    other.send(bytes.replace(HEAD, OTHER));
    // An answer that is being sent cannot be replaced by a refusal.
    const ended = kind === 'response' ? (await first.untilClosed())[0] : await first.answer();
    const refusal = { status: 429, retryAfter: '1', code: 'tenant_capacity_exhausted' };
    expect(ended && refusalIn(ended)).toEqual(kind === 'response' ? undefined : refusal);
    expect([server.permits.held(kind), second.isClosed]).toEqual([2, false]);
    other[Symbol.dispose]();
    await expect.poll(() => server.permits.held(kind)).toBe(1);
  });

  test('a request that is refused at once takes over no permit', { tags: ['Errors-18a'] }, async () => {
    const result: Jobs['result'] = (caller, job_id, wait) => {
      if (job_id !== JOB) throw new ServiceError('job_not_found', 'No such job.');
      return (HOLDING.result as Jobs['result'])(caller, job_id, wait);
    };
    const jobs = { ...HOLDING, result };
    await using server = await openServer({ jobs, permits: { [kind]: { total: 2, perTenant: 2 } } });
    using first = await hold(server.port);
    await expect.poll(() => server.permits.held(kind)).toBe(1);
    using second = await hold(server.port);
    await expect.poll(() => server.permits.held(kind)).toBe(2);
    using other = await RawSocket.open(server.port);
    const refused = kind === 'body' ? bytes.replace('Length: 2', 'Length: 1') : bytes.replace(JOB, `${JOB}x`);
    expect((await other.send(refused.replace(HEAD, OTHER)).answer()).status).toBe(kind === 'body' ? 400 : 404);
    expect([first.isClosed, second.isClosed, server.permits.held(kind)]).toEqual([false, false, 2]);
  });

  test('small reads of another tenant are answered while one tenant holds all permits', async () => {
    await using server = await openServer({ jobs: HOLDING, permits: { [kind]: { total: 1, perTenant: 1 } } });
    using _held = await hold(server.port);
    await expect.poll(() => server.permits.held(kind)).toBe(1);
    const statuses = ['/healthz', '/v1/status', '/v1/jobs'].map(async (path) => {
      return (await fetch(`${server.url}${path}`, { headers: bearer(KEY_OF_OTHER) })).status;
    });
    expect(await Promise.all(statuses)).toEqual([200, 200, 200]);
  });
});

describe('while a tenant holds all places for long answers', () => {
  /** Sends a request from another tenant or a link's reader, and says which of the tenant's two answers it ends. */
  async function endedBy(path: string, secret: string, method = 'GET'): Promise<boolean[]> {
    const detail = async () => JSON.stringify({ job_id: JOB, code: '€'.repeat(30_000) }) as JsonText<JobDetail>;
    const permits = { response: { total: 2, perTenant: 2 } };
    await using server = await openServer({ jobs: { ...HOLDING, detail }, permits });
    using first = await RawSocket.open(server.port);
    using second = await RawSocket.open(server.port);
    for (const reader of [first, second]) {
      reader.socket.pause();
      reader.send(RESULT_NOW.replace(HEAD, `${HEAD}Connection: close\r\n`));
      await expect.poll(() => server.permits.held('response')).toBe(reader === first ? 1 : 2);
    }
    expect((await fetch(`${server.url}${path}`, { method, headers: bearer(secret) })).status).toBe(200);
    for (const reader of [first, second]) reader.socket.on('error', () => {}).resume();
    const ends = await Promise.all([first, second].map((reader) => reader.untilClosed()));
    return ends.map(([answer]) => answer === undefined);
  }

  test('an answer that is long in bytes ends one of the tenant’s answers', { tags: ['Transfer-2'] }, async () => {
    expect(await endedBy(`/v1/jobs/${JOB}`, KEY_OF_OTHER)).toEqual([true, false]);
  });

  slowTest('an answer without a body ends none of the tenant’s answers', { tags: ['Errors-18a'] }, async () => {
    expect(await endedBy(`/v1/jobs/${JOB}/result`, KEY_OF_OTHER, 'HEAD')).toEqual([false, false]);
    expect(await endedBy(`/links/${LINK}/result`, SECRET_OF_LINK, 'HEAD')).toEqual([false, false]);
  });

  slowTest(
    'a short answer to a reader of a link ends none of the tenant’s answers',
    { tags: ['Errors-18a'] },
    async () => {
      expect(await endedBy(`/links/${LINK}/job`, SECRET_OF_LINK)).toEqual([false, false]);
    },
  );
});

test('a submission that loses its wait permit to another tenant stores its job, and is answered without a result', {
  tags: ['Errors-18a'],
}, async () => {
  await using server = await openServer({ jobs: HOLDING, permits: { wait: { total: 2, perTenant: 2 } } });
  const submit = `POST /v1/jobs?wait_seconds=60 HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`;
  using first = await RawSocket.open(server.port);
  first.send(submit);
  await expect.poll(() => server.submissions.length).toBe(1);
  using second = await RawSocket.open(server.port);
  second.send(WAIT);
  await expect.poll(() => server.permits.held('wait')).toBe(2);
  using other = await RawSocket.open(server.port);
  other.send(WAIT.replace(HEAD, OTHER));
  const { status, body } = await first.answer();
  expect([status, Object.keys(JSON.parse(body) as object)]).toEqual([201, expect.not.arrayContaining(['result'])]);
});

test('an upload beyond the budget of bytes is refused before its body is requested', {
  tags: ['Blobs-11'],
}, async () => {
  const checkBudget = () => {
    throw new ServiceError('rate_limited', 'The budget is spent.', { retryAfterSeconds: 7 });
  };
  await using server = await openServer({ blobs: { checkBudget } });
  using raw = await RawSocket.open(server.port);
  raw.send(`PUT /v1/blobs/sha256/${BLOB} HTTP/1.1\r\n${HEAD}Content-Length: 9\r\nExpect: 100-continue\r\n\r\n`);
  expect(refusalIn(await raw.answer())).toEqual({ status: 429, retryAfter: '7', code: 'rate_limited' });
  expect(raw.text).not.toContain('100 Continue');
});

describe('a request body that arrives slower than the minimum rate', () => {
  const bounds = { bodyUnhurriedMilliseconds: 200, bodyBytesPerSecond: 100 };
  const slow = async (port: number) => (await RawSocket.open(port)).send(BODY);

  test('is tolerated for an initial time, and then ends with 408 if more than half of the permits are held', {
    tags: ['Limits-8a', 'CROWD-02'],
  }, async () => {
    await using server = await openServer({ bounds, permits: { body: { total: 3, perTenant: 3 } } });
    const began = performance.now();
    using first = await slow(server.port);
    using second = await slow(server.port);
    const [answer] = await first.untilClosed();
    expect(performance.now() - began).toBeGreaterThanOrEqual(200);
    expect(answer?.status).toBe(408);
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ error: { code: 'body_timeout', retryable: true } });
    // The other body is now the only one that holds a permit, so it may stay slow.
    expect([second.isClosed, server.permits.held('body')]).toEqual([false, 1]);
  });

  slowTest(
    'may take as long as any other body if at most half of the permits are held',
    {
      tags: ['Limits-8a'],
    },
    async () => {
      await using server = await openServer({ bounds, permits: { body: { total: 1, perTenant: 1 } } });
      using fast = await RawSocket.open(server.port);
      fast.send(BODY.replace('Content-Length: 2', 'Content-Length: 1000'), ' '.repeat(500));
      // This body stays fast on average for five seconds, and its pace is checked within one second.
      await delay(1500);
      expect([fast.isClosed, server.permits.held('body')]).toEqual([false, 1]);
      await using roomy = await openServer({ bounds, permits: { body: { total: 2, perTenant: 2 } } });
      using alone = await slow(roomy.port);
      await delay(1500);
      expect([alone.isClosed, roomy.permits.held('body')]).toEqual([false, 1]);
    },
  );
});

describe('a result that is sent after a wait', () => {
  const waited = (bytes: number): Partial<Jobs> => ({
    result: async () => resultOf({ ...RESULT, stdout: 'x'.repeat(bytes) }),
  });
  const ask = (url: string) => fetch(`${url}/v1/jobs/${JOB}/result?wait_seconds=1`, { headers: bearer() });
  const none = { response: { total: 0, perTenant: 10 } };

  test('exchanges its wait permit for a response permit if it is large', async () => {
    await using server = await openServer({ jobs: waited(16 * 1024 * 1024) });
    using raw = await RawSocket.open(server.port);
    raw.socket.pause();
    raw.send(WAIT);
    await expect.poll(() => [server.permits.held('wait'), server.permits.held('response')]).toEqual([0, 1]);
    raw[Symbol.dispose]();
    await expect.poll(() => server.permits.held('response')).toBe(0);
  });

  test('is refused and keeps no permit if it is large and no response permit is free', async () => {
    await using server = await openServer({ jobs: waited(64 * 1024), permits: none });
    const refused = await ask(server.url);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toMatchObject({ error: { code: 'capacity_exhausted', retryable: true } });
    await expect.poll(() => server.permits.held('wait')).toBe(0);
  });

  test('needs no response permit if it is small', async () => {
    await using server = await openServer({ jobs: waited(60 * 1024), permits: none });
    expect((await ask(server.url)).status).toBe(200);
    await expect.poll(() => server.permits.held('wait')).toBe(0);
  });
});

test('a large answer arrives whole and exact, and then holds no permit', async () => {
  const stdout = Array.from({ length: 200_000 }, (_, index) => `line ${index} é\n`).join('');
  await using server = await openServer({ jobs: { result: async () => resultOf({ ...RESULT, stdout }) } });
  const response = await fetch(`${server.url}/v1/jobs/${JOB}/result`, { headers: bearer() });
  const text = await response.text();
  expect(Number(response.headers.get('content-length'))).toBe(Buffer.byteLength(text));
  expect(JSON.parse(text)).toEqual({ ...RESULT, stdout });
  await expect.poll(() => server.permits.held('response')).toBe(0);
});

test('HEAD of a large result declares its length, but sends no body and keeps no permit', async () => {
  await using server = await openServer({ jobs: HOLDING });
  using raw = await RawSocket.open(server.port);
  raw.send(RESULT_NOW.replace('GET', 'HEAD'), 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
  await raw.until(() => raw.text.includes('{"status":"ok"}'));
  expect(raw.text).toMatch(/content-length: 16777\d{3}\r\n/);
  expect(raw.text).not.toContain('xxx');
  await expect.poll(() => server.permits.held('response')).toBe(0);
});

describe('a long answer that is read from the store while it is sent', () => {
  const pieceBytes = 256 * 1024;
  /** A result of one MiB that the store keeps in `pieces` pieces. `read` counts the pieces that were read. */
  function longResult({ pieces }: { pieces: number }) {
    const told = { read: 0 };
    const body = {
      text: null,
      bytes: 4 * pieceBytes,
      async *pieces() {
        for (; told.read < pieces; told.read++) yield 'x'.repeat(pieceBytes);
      },
    };
    const jobs: Partial<Jobs> = { result: async () => ({ hasEnded: true, body }) };
    return { told, jobs };
  }

  test('arrives whole, and then returns its permit', async () => {
    const { jobs } = longResult({ pieces: 4 });
    await using server = await openServer({ jobs });
    const response = await fetch(`${server.url}/v1/jobs/${JOB}/result`, { headers: bearer() });
    expect(response.headers.get('content-length')).toBe(String(4 * pieceBytes));
    expect(await response.text()).toBe('x'.repeat(4 * pieceBytes));
    await expect.poll(() => server.permits.held('response')).toBe(0);
  });

  test.each([
    ['fewer', 3],
    ['more', 5],
  ])(
    'ends its connection if the store has %s pieces than declared, and never sends more than declared',
    async (_what, pieces) => {
      const { jobs } = longResult({ pieces });
      await using server = await openServer({ jobs });
      using raw = await RawSocket.open(server.port);
      expect(await raw.send(RESULT_NOW, RESULT_NOW).untilClosed()).toEqual([]);
      expect(raw.text.match(/HTTP\/1\.1/g)).toHaveLength(1);
      await expect.poll(() => server.permits.held('response')).toBe(0);
      const err = { message: expect.stringMatching(/^a body is (longer|shorter) than was declared$/) as string };
      expect(server.log).toContainEqual(
        expect.objectContaining({ msg: 'an answer was broken off', err: expect.objectContaining(err) as object }),
      );
    },
  );

  test('is not read for a HEAD request', async () => {
    const { told, jobs } = longResult({ pieces: 4 });
    await using server = await openServer({ jobs });
    using raw = await RawSocket.open(server.port);
    raw.send(RESULT_NOW.replace('GET', 'HEAD'), 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
    await raw.until(() => raw.text.includes('{"status":"ok"}'));
    expect(raw.text).toContain(`content-length: ${4 * pieceBytes}\r\n`);
    expect(told.read).toBe(0);
    await expect.poll(() => server.permits.held('response')).toBe(0);
  });
});

describe('when a credential ends', { tags: ['Authentication-8'] }, () => {
  slowTest.each([
    ['a wait', 'wait', WAIT],
    ['a transfer', 'response', RESULT_NOW],
  ] as const)('%s ends, and its connection is closed', async (_name, kind, bytes) => {
    let stands = true;
    const credential: CredentialKind = { ...credentialWith('key-of-acme', ['jobs:read']), stands: async () => stands };
    await using server = await openServer({ jobs: HOLDING, credentials: [credential] });
    using raw = await RawSocket.open(server.port);
    raw.socket.pause();
    raw.send(bytes);
    await expect.poll(() => server.permits.held(kind)).toBe(1);
    stands = false;
    await expect.poll(() => server.permits.held(kind)).toBe(0);
    raw.socket.resume();
    expect(await raw.untilClosed()).toEqual([]);
  });

  /** A server with a credential that the test ends. */
  async function openServerWithEnd(jobs: Partial<Jobs> = {}) {
    let isOver = false;
    const told: (() => void)[] = [];
    const credential: CredentialKind = {
      ...credentialWith('key-of-acme', ['jobs:read', 'jobs:submit']),
      stands: async () => !isOver,
      whenEnded: (listener) => told.push(listener),
    };
    // No connection is closed for being idle.
    const bounds = { idleMilliseconds: 3_600_000 };
    const server = await openServer({ jobs, bounds, credentials: [credential] });
    const end = () => {
      isOver = true;
      for (const listener of told) listener();
    };
    return { server, end };
  }
  const BODY_OF_JOB = '{"language":"bash","code":"true"}';
  const POST = `POST /v1/jobs HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nContent-Length: ${BODY_OF_JOB.length}\r\n\r\n`;

  test('a request whose body is still arriving is refused with 401, and its connection is closed', async () => {
    const { server, end } = await openServerWithEnd();
    await using _server = server;
    using raw = await RawSocket.open(server.port);
    raw.send(POST, BODY_OF_JOB.slice(0, 5));
    await expect.poll(() => server.permits.held('body')).toBe(1);
    end();
    const { status, headers, body } = await raw.answer();
    expect([status, headers['connection'], headers['www-authenticate']]).toEqual([
      401,
      'close',
      'Bearer realm="svc", error="invalid_token"',
    ]);
    expect(JSON.parse(body)).toMatchObject({ error: { code: 'unauthorized', request_id: headers['x-request-id'] } });
    expect(server.permits.held('body')).toBe(0);
    expect(server.submissions).toEqual([]);
  });

  test('a submission whose body has arrived is checked again before it is stored, and is refused with 401', {
    tags: ['Authentication-8a'],
  }, async () => {
    const submit: Jobs['submit'] = async (_caller, { checkAuthority }) => {
      end();
      await checkAuthority?.();
      throw new Error('it was stored');
    };
    const { server, end } = await openServerWithEnd({ submit });
    await using _server = server;
    using raw = await RawSocket.open(server.port);
    expect((await raw.send(POST, BODY_OF_JOB).answer()).status).toBe(401);
  });

  test('an idle connection that used that credential is closed, and connections with other credentials stay open', async () => {
    const { server, end } = await openServerWithEnd();
    await using _server = server;
    using mine = await RawSocket.open(server.port);
    using other = await RawSocket.open(server.port);
    const whoami = `GET /v1/whoami HTTP/1.1\r\n${HEAD}\r\n`;
    expect((await mine.send(whoami).answer()).status).toBe(200);
    expect((await other.send(whoami.replace('key-of-acme', KEY_OF_OTHER)).answer()).status).toBe(200);
    end();
    await mine.untilClosed();
    expect((await other.send(whoami.replace('key-of-acme', KEY_OF_OTHER)).answers(2))[1]?.status).toBe(200);
  });

  test('a connection counts for the last credential that was used on it', async () => {
    const { server, end } = await openServerWithEnd();
    await using _server = server;
    using raw = await RawSocket.open(server.port);
    const whoami = `GET /v1/whoami HTTP/1.1\r\n${HEAD}\r\n`;
    raw.send(whoami, whoami.replace('key-of-acme', KEY_OF_OTHER));
    await raw.answers(2);
    end();
    expect((await raw.send(whoami).answers(3))[2]?.status).toBe(200);
  });

  const caller: Caller = {
    tenant: 'acme',
    principal: 'p',
    auth_method: 'key',
    credential_id: 'c',
    scopes: [],
    expires_at: null,
  };

  const watched = { log: pino({ level: 'silent' }), checkMilliseconds: 60_000, isIdle: () => true };

  test('everything that the ended credential holds ends exactly once, and other credentials keep what they hold', async () => {
    const asked: string[] = [];
    const stands = async ({ credential_id }: Caller) => {
      asked.push(credential_id);
      return credential_id !== 'c';
    };
    using watch = new AuthorityWatch({ ...watched, access: { stands, whenEnded: () => undefined } });
    const ended: string[] = [];
    watch.watch(caller, () => ended.push('first'));
    watch.watch({ ...caller }, () => ended.push('second'));
    watch.watch({ ...caller, credential_id: 'd' }, () => ended.push('other'));
    const letGo = watch.watch(caller, () => ended.push('let go'));
    letGo();
    await watch.check();
    await watch.check();
    expect(ended).toEqual(['first', 'second']);
    expect(asked).toEqual(['c', 'd', 'd']);
  });

  test('a credential stays valid while the service cannot check it', async () => {
    let isReachable = false;
    const stands = async () => {
      if (!isReachable) throw new Error('the store is away');
      return false;
    };
    using watch = new AuthorityWatch({ ...watched, access: { stands, whenEnded: () => undefined } });
    const ended: string[] = [];
    watch.watch(caller, () => ended.push('ended'));
    await watch.check();
    expect(ended).toEqual([]);
    isReachable = true;
    await watch.check();
    expect(ended).toEqual(['ended']);
  });
});
