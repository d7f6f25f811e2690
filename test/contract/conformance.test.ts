/** Every operation in the contract: whom it refuses, and how. Foreign jobs and unknown jobs get the same answer. */
import { OPERATION_IDS, type Operation, operationOf, PAGE_IDS, SCOPES, type Scope } from '@vouchbox/protocol';
import { openCredentials } from '@vouchbox/server';
import { beforeAll, describe, expect, test } from 'vitest';
import { Contract } from '../rig/contract.ts';
import { type Answer, type RequestOptions, useRig } from '../rig/rig.ts';

const rig = useRig({
  provider: 'subprocess',
  'metrics-token': 'token-of-metrics',
  'attestation-mode': 'on',
  links: 'on',
});

/** Keys of tenant alpha: for each scope, a key with only this scope, and a key with all other scopes. */
const only = {} as Record<Scope, string>;
const without = {} as Record<Scope, string>;
let contract: Contract;
/** Ended jobs: one of alpha's and one of beta's. */
let mine: string;
let foreign: string;
beforeAll(async () => {
  await using operator = await openCredentials({ dataDir: rig().dataDir });
  const issue = async (scopes: readonly Scope[]) =>
    (await operator.create({ tenant: 'alpha', principal: null, scopes: [...scopes], expires_at: null })).key;
  for (const scope of SCOPES) {
    only[scope] = await issue([scope]);
    without[scope] = await issue(SCOPES.filter((other) => other !== scope));
  }
  const submission = { language: 'bash', code: 'true' };
  [mine, foreign] = [(await rig().run(submission)).job_id, (await rig().run(submission, rig().beta)).job_id];
  contract = new Contract((await rig().request('/openapi.json', { key: null })).text);
});

const unknown = () => `${mine.slice(0, -4)}${mine.endsWith('0000') ? '1111' : '0000'}`;

/** The digest of no bytes. */
const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const bodyOf = ({ method, path }: Operation) =>
  method === 'PUT'
    ? ''
    : path.endsWith('{seq}')
      ? { result: 1 }
      : path.endsWith('/links')
        ? {}
        : { language: 'bash', code: 'true' };

interface AskOptions extends RequestOptions {
  readonly job_id?: string;
  readonly query?: string;
}

async function ask(operation: Operation, options: AskOptions = {}): Promise<Answer> {
  const { job_id = mine, query, ...request } = options;
  const plainPath = operation.path
    .replace('{id}', job_id)
    .replace('{seq}', '3')
    .replace('{sha256}', EMPTY)
    .replace('{grading}', 'grading_x')
    .replace('{link}', 'A'.repeat(16));
  const path = query === undefined ? plainPath : `${plainPath}?${query}`;
  const body = operation.body?.isOptional !== false ? {} : { body: bodyOf(operation) };
  const answer = await rig().request(path, { method: operation.method, ...body, ...request });
  const promised = contract.operations.find(
    (candidate) => candidate.path === operation.path && candidate.method === operation.method,
  );
  expect(promised && contract.problemWith(promised, answer)).toBeNull();
  return answer;
}

const operations = OPERATION_IDS.map((id) => [id, operationOf(id)] as const);
const guarded = operations.filter(([, { access }]) => access !== 'public');
const scoped = guarded.filter(([, { access }]) => access.includes(':'));
const ofJobs = operations.filter(([, { path }]) => path.includes('{id}'));

test('the OpenAPI document from the service has every operation and every page, and nothing else', {
  tags: ['Endpoints-1'],
}, () => {
  const served = contract.operations.map(({ id }) => id);
  expect(served.toSorted()).toEqual([...OPERATION_IDS, ...PAGE_IDS].toSorted());
});

test.each(['getAttestation', 'getResultArtifact'] as const)(
  '%s for a signed job answers with a body that the contract lists',
  {
    tags: ['Versioning-1'],
  },
  async (id) => {
    await expect.poll(async () => (await rig().alpha.client.detail(mine)).attestation.available).toBe(true);
    expect((await ask(operationOf(id))).status).toBe(200);
  },
);

describe('without a credential', { tags: ['Endpoints-2', 'Authentication-1', 'Authentication-4'] }, () => {
  test.each(guarded)(
    '%s is refused with a challenge',
    { tags: ['Authentication-5', 'Authentication-5a'] },
    async (_id, operation) => {
      const answer = await ask(operation, { key: null });
      expect([answer.status, answer.json.error.code]).toEqual([401, 'unauthorized']);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="svc"');
    },
  );
});

describe('with a bad credential', () => {
  test.each(guarded)(
    '%s is refused, and the challenge says invalid_token',
    { tags: ['Authentication-5a'] },
    async (_id, operation) => {
      const spoilt = only['jobs:read'].replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
      for (const key of ['nobody', spoilt, `${rig().alpha.key}x`, 'a.b.c']) {
        const answer = await ask(operation, { key });
        expect([answer.status, answer.json.error.code]).toEqual([401, 'unauthorized']);
        expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="svc", error="invalid_token"');
        expect(answer.text).not.toContain(key);
      }
    },
  );
});

describe('with a key that has every scope but the one that the operation needs', {
  tags: ['Routes-7', 'Authentication-3a', 'AUTH-06'],
}, () => {
  test.each(scoped)(
    '%s is refused, and the challenge names the scope',
    { tags: ['Errors-8'] },
    async (_id, operation) => {
      const scope = operation.access as Scope;
      const answer = await ask(operation, { key: without[scope] });
      expect([answer.status, answer.json.error.code]).toEqual([403, 'insufficient_scope']);
      const challenge = answer.headers.get('www-authenticate');
      expect(challenge).toBe(`Bearer realm="svc", error="insufficient_scope", scope="${scope}"`);
    },
  );

  test.each(scoped)('%s is refused with 403 even for an unknown job', async (_id, operation) => {
    const answer = await ask(operation, { key: without[operation.access as Scope], job_id: unknown() });
    expect(answer.status).toBe(403);
  });
});

/** The parameters that need a scope beyond their operation's scope: each operation, parameter name and scope. */
const scopedParameters = scoped.flatMap(([id, operation]) =>
  Object.entries(operation.queryAccess ?? {}).map(([name, scope]) => [id, name, scope, operation] as const),
);
/** For each parameter: a value that needs the scope, and, if there is one, a value that needs no such scope. */
const OF_PARAMETER: Readonly<Record<string, readonly [string, string?]>> = {
  wait_seconds: ['1', '0'],
  include: ['stream_ticket'],
};

describe('a parameter that needs one more scope:', {
  tags: ['Submit-8c', 'Submit-9', 'Authentication-3a', 'AUTH-06'],
}, () => {
  test.each(scopedParameters)('%s with %s is refused without %s', async (_id, name, scope, operation) => {
    const jobs = await rig().jobCount();
    const [asking = '', plain] = OF_PARAMETER[name] ?? [];
    const answer = await ask(operation, { key: without[scope], query: `${name}=${asking}` });
    expect([answer.status, answer.json.error.code]).toEqual([403, 'insufficient_scope']);
    expect(answer.headers.get('www-authenticate')).toBe(
      `Bearer realm="svc", error="insufficient_scope", scope="${scope}"`,
    );
    expect(answer.json.error.message).toContain(`"${name}"`);
    expect(await rig().jobCount()).toBe(jobs);
    if (plain === undefined) return;
    expect((await ask(operation, { key: without[scope], query: `${name}=${plain}` })).status).toBe(201);
  });
});

describe('with a key that has only one scope', { tags: ['Authentication-3a'] }, () => {
  test.each(scoped)('%s is allowed by its scope alone', async (_id, operation) => {
    const key = operation.alsoAccess === undefined ? only[operation.access as Scope] : rig().alpha.key;
    const answer = await ask(operation, { key });
    // The scope suffices, even if the job belongs to another principal.
    const isOfAnother = answer.text.includes('principal_not_allowed');
    expect(isOfAnother ? [] : [401, 403, 429]).not.toContain(answer.status);
  });

  test.each(SCOPES)(
    '%s allows what the contract lists for it, and nothing else',
    { tags: ['Authentication-3', 'AUTH-06'] },
    async (scope) => {
      for (const [id, operation] of scoped) {
        const { text } = await ask(operation, { key: only[scope] });
        const isEnough = operation.access === scope && operation.alsoAccess === undefined;
        expect([id, text.includes('"insufficient_scope"')]).toEqual([id, !isEnough]);
      }
      expect((await rig().request('/v1/whoami', { key: only[scope] })).json.scopes).toEqual([scope]);
    },
  );
});

describe("another tenant's job gets the same answer as an unknown job:", {
  tags: ['What-5', 'GetJob-2', 'Authentication-4a', 'Authentication-4b', 'AUTH-07'],
}, () => {
  /** Everything that can be observed in an answer, except values that differ every time. */
  function shapeOf({ status, headers, text }: Answer): unknown {
    const changing = ['date', 'x-request-id', 'ratelimit-remaining', 'ratelimit-reset'];
    return {
      status,
      names: [...headers.keys()],
      values: [...headers].filter(([name]) => !changing.includes(name)),
      text: text.replace(headers.get('x-request-id') ?? 'none', 'ID'),
    };
  }

  test.each(ofJobs)('%s', async (_id, operation) => {
    const answers = [];
    for (const job_id of [foreign, unknown(), 'job_1', 'job_1%00', '%E2%82%AC', `${mine}x`]) {
      answers.push(await ask(operation, { job_id }));
    }
    const [first] = answers;
    expect(first?.json.error.code).toBe('job_not_found');
    for (const answer of answers) expect(shapeOf(answer)).toEqual(shapeOf(first as Answer));
  });

  test('opening its stream', async () => {
    const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
    const head = `Host: x\r\n${upgrade}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n`;
    const codes = [];
    for (const job_id of [foreign, unknown(), 'job_1']) {
      const authorized = `${head}Authorization: Bearer ${rig().alpha.key}\r\n`;
      const [answer] = await rig().raw(`GET /v1/jobs/${job_id}/stream HTTP/1.1\r\n${authorized}\r\n`);
      codes.push([answer?.status, (JSON.parse(answer?.body ?? '') as { error: { code: string } }).error.code]);
    }
    expect(codes).toEqual(Array.from({ length: 3 }, () => [404, 'job_not_found']));
  });

  test('opening its stream with a ticket for one’s own job', async () => {
    const { json } = await rig().request(`/v1/jobs/${mine}/stream-ticket`, { method: 'POST' });
    const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
    const head = `Host: x\r\n${upgrade}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n`;
    const [answer] = await rig().raw(`GET ${json.stream_url.replace(mine, foreign)} HTTP/1.1\r\n${head}\r\n`);
    expect(answer?.status).toBe(401);
  });

  test("listing jobs, even with the other tenant's cursor", async () => {
    for (let index = 0; index < 3; index++) await rig().run({ language: 'bash', code: 'true' }, rig().beta);
    const { json } = await rig().request('/v1/jobs?limit=1', { key: rig().beta.key });
    const listed = await rig().request('/v1/jobs?limit=200');
    expect(listed.json.items.map((item: { job_id: string }) => item.job_id)).not.toContain(foreign);
    const answer = await rig().request(`/v1/jobs?cursor=${encodeURIComponent(json.next_cursor as string)}`);
    expect([answer.status, answer.json.error.code]).toEqual([400, 'invalid_request']);
  });

  test('cancelling it', async () => {
    await rig().request(`/v1/jobs/${foreign}`, { method: 'DELETE' });
    expect((await rig().beta.client.detail(foreign)).cancellation_requested).toBe(false);
  });
});

describe('for anyone', () => {
  test.each(operations.filter(([, { access }]) => access === 'public'))(
    '%s gives everyone the same answer',
    async (_id, operation) => {
      const answers = [];
      for (const key of [null, 'nobody', rig().alpha.key]) answers.push(await ask(operation, { key }));
      expect(new Set(answers.map(({ status }) => status)).size).toBe(1);
      for (const { headers } of answers) {
        expect(headers.get('ratelimit-limit')).toBeNull();
        expect(headers.get('access-control-allow-origin')).toBeNull();
      }
    },
  );
});
