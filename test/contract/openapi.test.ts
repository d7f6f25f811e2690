/**
 * Spec § Versioning 1: the document describes the service exactly. Of all codes in the error table, each operation gives
 * exactly those that the document lists for that operation. Every success has exactly the listed headers. Every parameter
 * accepts what its schema says.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import {
  blobBytesMax,
  ERROR_CODES,
  type ErrorCode,
  OPENMETRICS_MEDIA_TYPE,
  openApiDocument,
  PROMETHEUS_MEDIA_TYPE,
} from '@vouchbox/protocol';
import { afterAll, describe, expect, test } from 'vitest';
import type { CredentialKind } from '../../packages/server/src/access/authenticate.ts';
import { ServiceError } from '../../packages/server/src/ground/service-error.ts';
import { LINK, SECRET_OF_LINK } from '../../packages/server/src/http/links.fixture.ts';
import { listBuiltPages } from '../../packages/server/src/http/pages/built-pages.ts';
import {
  BLOB,
  credentialWith,
  JOB,
  KEY_OF_ACME,
  openServer,
  type TestServer,
  type TestServerOptions,
} from '../../packages/server/src/http/server.fixture.ts';
import { RawSocket } from '../../packages/server/src/http/socket.fixture.ts';
import type { Jobs } from '../../packages/server/src/job/jobs.ts';
import { StoreError } from '../../packages/server/src/store/store-error.ts';
import { NO_OBSERVER } from '../../packages/server/src/telemetry/observer.ts';
import { Contract, type ContractOperation, type JsonSchema, type Parameter } from '../rig/contract.ts';
import type { Answer } from '../rig/rig.ts';

const contract = new Contract(JSON.stringify(openApiDocument()));
const operations = contract.operations.map((operation) => [operation.id, operation] as const);

const METRICS_TOKEN = 'token-of-metrics';
const FOREIGN_JOB = JOB.replace(/1$/, '2');
const SUBMISSION = '{"language":"bash","code":"true"}';
const GRADING = JSON.stringify({ programs: [{ language: 'bash', code: 'true' }], tests: [{ name: 'a' }] });
const UPGRADE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

/** How a request differs from the plain request, or its server from the plain server. */
interface Change {
  readonly server?: TestServerOptions;
  /** Changes the server before the first request. */
  readonly prepare?: (server: TestServer) => unknown;
  /** True if the operator set no metrics token and no pages were built. */
  readonly hasNothingOptional?: true;
  /** Null sends no credential. */
  readonly key?: string | null;
  readonly query?: string;
  /** Whole header lines. */
  readonly headers?: string;
  /** Sent after the head. The head has the body's length and type unless `headers` state them. */
  readonly body?: string;
  readonly job_id?: string;
  readonly sha256?: string;
  readonly grading?: string;
  readonly session?: string;
  readonly link?: string;
}

const built = mkdtempSync(join(tmpdir(), 'svc-pages-'));
for (const [file, content] of [
  ['verify-page/index.html', '<!doctype html>'],
  ['dashboard/index.html', '<!doctype html>'],
  ['dashboard/assets/a.js', '1'],
  ['dashboard/assets/a.js.gz', gzipSync('1')],
  ['link-page/index.html', '<!doctype html>'],
  ['docs-site/front.html', '<!doctype html>'],
  ['docs-site/a.html', '<!doctype html>'],
  ['docs-site/a.html.gz', gzipSync('<!doctype html>')],
  ['docs-site/assets/a.js', '1'],
  ['docs-site/assets/a.js.gz', gzipSync('1')],
] as const) {
  mkdirSync(join(built, file, '..'), { recursive: true });
  writeFileSync(join(built, file), content);
}
const BUILT = listBuiltPages(built);
afterAll(() => rmSync(built, { recursive: true }));

const servers = new Map<Change, Promise<TestServer>>();
afterAll(async () => {
  for (const server of servers.values()) await (await server)[Symbol.asyncDispose]();
});

/** All requests with the same change are made to one server. */
function serverOf(change: Change): Promise<TestServer> {
  const open = async () => {
    const optional = change.hasNothingOptional ? { publicLog: null } : { metricsToken: METRICS_TOKEN, pages: BUILT };
    const server = await openServer({ ...optional, ...change.server });
    await change.prepare?.(server);
    return server;
  };
  const server = servers.get(change) ?? open();
  servers.set(change, server);
  return server;
}

const PLAIN: Change = {};

/** Sends the request to the server that has no change. */
function askPlain(
  operation: ContractOperation,
  request: Omit<Change, 'server' | 'prepare' | 'hasNothingOptional'>,
): Promise<Answer> {
  return ask(operation, request, PLAIN);
}

async function ask(operation: ContractOperation, change: Change, server = change): Promise<Answer> {
  using socket = await RawSocket.open((await serverOf(server)).port);
  const { status, headers, body } = await socket.send(requestOf(operation, change)).answer();
  return { status, headers: new Headers({ ...headers }), text: body, json: undefined };
}

const pathOf = ({ path }: ContractOperation) =>
  path
    .replace('{grading}', 'grading_x')
    .replace('{session}', 'one')
    .replace('{link}', LINK)
    .replace('{view}', 'jobs/1')
    .replace('{page}', 'a.html')
    .replace('{file}', 'a.js')
    .replace('{tile}', '0/000');

/** Query parameters that an operation requires in every request. */
const NEEDED: Readonly<Record<string, string>> = {
  getLogLeafProof: `hash=${'0'.repeat(64)}`,
  getLogConsistency: 'old=1',
};

const BODIES: Readonly<Record<string, string>> = {
  submitJob: SUBMISSION,
  submitGrading: GRADING,
  answerToolCall: '{"result":1}',
  createLink: '{}',
};

function requestOf({ id, method, path }: ContractOperation, change: Change): string {
  const own = { metrics: METRICS_TOKEN, v1: KEY_OF_ACME, links: SECRET_OF_LINK }[path.split('/')[1] ?? ''] ?? null;
  const {
    key = own,
    query: asked = '',
    headers = '',
    job_id = JOB,
    sha256 = BLOB,
    grading = 'grading_x',
    session = 'one',
    link = LINK,
    body = BODIES[id] ?? '',
  } = change;
  const query = [NEEDED[id], asked].filter(Boolean).join('&');
  const lines = [
    `${method} ${path.replace('{id}', job_id).replace('{seq}', '3').replace('{sha256}', sha256).replace('{grading}', grading).replace('{session}', session).replace('{link}', link).replace('{view}', 'jobs/1').replace('{page}', 'a.html').replace('{file}', 'a.js').replace('{tile}', '0/000')}${query && `?${query}`} HTTP/1.1`,
    'Host: x',
  ];
  if (key !== null) lines.push(`Authorization: Bearer ${key}`);
  if (body !== '' && !/^content-type:/im.test(headers)) lines.push('Content-Type: application/json');
  if (body !== '' && !/^content-length:/im.test(headers)) lines.push(`Content-Length: ${body.length}`);
  return `${lines.join('\r\n')}\r\n${id === 'streamEvents' ? UPGRADE : ''}${headers}\r\n${body}`;
}

/** A server in which these methods of jobs and gradings refuse with the code. The methods are a layer below HTTP. */
function refusing(code: ErrorCode, ...methods: (keyof Jobs)[]): Change {
  const refused = Object.fromEntries(methods.map((name) => [name, refusalOf(code)]));
  return { server: { jobs: refused, gradings: refused } };
}

function refusalOf(code: ErrorCode): () => Promise<never> {
  return () => Promise.reject(new ServiceError(code, 'It cannot be done.'));
}

/** A server that cannot look up credentials. */
function unresolved(error: Error): Change {
  const kind: CredentialKind = { method: 'jwt', resolve: () => Promise.reject(error), stands: async () => true };
  return { server: { credentials: [kind] } };
}

/** A server whose store fails when it is asked for credentials, links or the log. */
function failing(error: StoreError): Change {
  const fails = () => Promise.reject(error);
  const linkRows = { link: fails };
  const publicLog = { checkpoint: fails, tile: fails, proof: fails, consistency: fails, keys: fails };
  return { server: { ...unresolved(error).server, publicLog, linkRows } };
}

const none = { total: 10, perTenant: 0 };
const FULL = new StoreError('full', 'there is no space left');
const rejecting = () => Promise.reject(FULL);

/** How to provoke each code, except `method_not_allowed`. */
const PROVOCATIONS: Readonly<Record<Exclude<ErrorCode, 'method_not_allowed'>, Change>> = {
  invalid_request: { headers: 'Host: y\r\n' },
  invalid_json: { body: '{' },
  unsupported_language: refusing('unsupported_language', 'submit'),
  network_not_allowed: refusing('network_not_allowed', 'submit'),
  unauthorized: { key: null },
  insufficient_scope: { key: 'of-no-scope', server: { credentials: [credentialWith('of-no-scope', [])] } },
  principal_not_allowed: {
    server: {
      ...refusing('principal_not_allowed', 'toolCalls', 'answerToolCall').server,
      linkRows: { createLink: async () => 'not_allowed' },
    },
  },
  links_disabled: { server: { allowsLinks: false } },
  link_not_found: { link: 'none' },
  job_not_found: { job_id: FOREIGN_JOB },
  tool_call_not_found: refusing('tool_call_not_found', 'answerToolCall'),
  grading_not_found: { grading: 'grading_y' },
  session_not_found: { session: 'two' },
  session_conflict: { server: { jobs: { submit: refusalOf('session_conflict') } } },
  blob_not_found: { sha256: BLOB.replace(/5$/, '6') },
  route_not_found: { hasNothingOptional: true },
  attestation_unavailable: refusing('attestation_unavailable', 'attestation', 'canary', 'logProof'),
  attestation_disabled: refusing('attestation_disabled', 'attestation', 'canary'),
  log_proof_unavailable: refusing('log_proof_unavailable', 'logProof'),
  not_logged: refusing('not_logged', 'logProof'),
  promise_unavailable: refusing('promise_unavailable', 'promise'),
  not_promised: refusing('not_promised', 'promise', 'pending'),
  promise_not_offered: { server: { jobs: { submit: refusalOf('promise_not_offered') } } },
  canary_not_found: refusing('canary_not_found', 'canary'),
  signing_key_unknown: refusing('signing_key_unknown', 'attestation', 'promise', 'canary'),
  body_timeout: { server: { bounds: { bodyMilliseconds: 20 } }, headers: 'Content-Length: 9\r\n', body: '{' },
  job_not_terminal: refusing('job_not_terminal', 'attestation', 'canary', 'logProof'),
  job_terminal: refusing('job_terminal', 'answerToolCall'),
  tool_call_answered: refusing('tool_call_answered', 'answerToolCall'),
  payload_too_large: { headers: `Content-Length: ${blobBytesMax + 1}\r\n`, body: '{' },
  unsupported_media_type: { headers: 'Content-Type: text/plain\r\nContent-Encoding: gzip\r\n', body: '{}' },
  expectation_failed: { headers: 'Expect: miracles\r\n' },
  runtime_unavailable: refusing('runtime_unavailable', 'submit'),
  minimum_isolation_unsatisfied: refusing('minimum_isolation_unsatisfied', 'submit'),
  enforcement_unsatisfied: refusing('enforcement_unsatisfied', 'submit'),
  blob_unavailable: refusing('blob_unavailable', 'submit'),
  input_unavailable: refusing('input_unavailable', 'submit'),
  tool_result_misfit: refusing('tool_result_misfit', 'answerToolCall'),
  digest_mismatch: { server: { blobs: { receive: refusalOf('digest_mismatch') } } },
  idempotency_key_reused: refusing('idempotency_key_reused', 'submit'),
  rate_limited: {
    server: { rate: { perSecond: 0.001, burst: 1 } },
    prepare: async ({ url }) => {
      await fetch(`${url}/v1/whoami`, { headers: { authorization: `Bearer ${KEY_OF_ACME}` } });
      await fetch(`${url}/log/checkpoint`);
      await fetch(`${url}/links/${LINK}/job`, { headers: { authorization: `Bearer ${SECRET_OF_LINK}` } });
    },
  },
  tenant_capacity_exhausted: {
    body: '{}',
    server: { permits: { body: none, wait: none, stream: none, response: none } },
  },
  head_too_large: { headers: `X: ${'x'.repeat(20_000)}\r\n` },
  internal: {
    server: {
      observer: {
        ...NO_OBSERVER,
        requestBegan() {
          throw new Error('a bug');
        },
      },
    },
  },
  queue_full: refusing('queue_full', 'submit'),
  capacity_exhausted: failing(new StoreError('busy', 'more is waiting than the store takes')),
  store_unavailable: failing(new StoreError('unreachable', 'the database does not answer')),
  worker_unavailable: refusing('worker_unavailable', 'submit'),
  issuer_unavailable: unresolved(
    new ServiceError('issuer_unavailable', 'The keys of the token issuer cannot be read.'),
  ),
  shutting_down: { query: 'wait_seconds=1', prepare: (server) => server.stop() },
  insufficient_storage: {
    server: {
      jobs: { submit: refuseForSpace, cancel: refuseForSpace, answerToolCall: refuseForSpace },
      gradings: { submit: refuseForSpace, cancel: refuseForSpace },
      sessions: { remove: refuseForSpace },
      blobs: { receive: refuseForSpace },
      linkRows: { createLink: rejecting, revokeLink: rejecting },
      ticketRows: { storeTicket: rejecting, consumeTicket: rejecting },
    },
  },
};

function refuseForSpace(): Promise<never> {
  return Promise.reject(new ServiceError('insufficient_storage', 'There is no space left to store this.'));
}

/** How to provoke the code at this operation, without parameters that the operation would refuse as unknown. */
function provocationOf(code: keyof typeof PROVOCATIONS, { id, method }: ContractOperation): Change {
  const change = PROVOCATIONS[code];
  if (code === 'shutting_down' && !WAITING.includes(id)) return WITHOUT_QUERY;
  if (code === 'insufficient_storage' && id === 'streamEvents') return BY_TICKET;
  if (code === 'tenant_capacity_exhausted' && method !== 'POST') return WITHOUT_BODY;
  if (code === 'attestation_disabled' && id === 'getPublicKey') return PLAIN;
  return change;
}
const WAITING = [
  'submitJob',
  'getResult',
  'replayEvents',
  'listToolCalls',
  'getPromise',
  'getGrading',
  'gradingEvents',
];
const WITHOUT_QUERY: Change = { ...PROVOCATIONS.shutting_down, query: '' };
const WITHOUT_BODY: Change = { ...PROVOCATIONS.tenant_capacity_exhausted, body: '' };
const BY_TICKET: Change = { ...PROVOCATIONS.insufficient_storage, key: null, query: `ticket=${'T'.repeat(43)}` };

describe('an operation gives exactly the refusals that the document lists for it:', { tags: ['Versioning-1'] }, () => {
  const codes = ERROR_CODES.filter((code) => code !== 'method_not_allowed');

  test.each(operations)('%s', async (_id, operation) => {
    for (const code of codes) {
      const answer = await ask(operation, provocationOf(code, operation));
      // The bodies for this server's jobs are scripted. Other tests compare real bodies with the contract.
      const isRefusal = answer.text.startsWith('{"error":');
      const mismatch = isRefusal ? contract.mismatchOf(operation, answer) : contract.headMismatchOf(operation, answer);
      expect([code, mismatch]).toEqual([code, null]);
      const came = /"code":"([a-z_]+)"/.exec(answer.text)?.[1];
      expect([code, came === code]).toEqual([code, operation.errorCodes.includes(code)]);
      if (came !== undefined) statusesOf(operation).add(answer.status);
    }
  });
});

/** The statuses with which each operation has answered. */
const seen = new Map<string, Set<number>>();
function statusesOf({ id }: ContractOperation): Set<number> {
  const statuses = seen.get(id) ?? new Set();
  seen.set(id, statuses);
  return statuses;
}

const BYTES = new TextEncoder().encode('{}');
const SIGNED: Change = {
  server: {
    jobs: {
      attestation: async () => ({ bytes: BYTES, sha256: 'a'.repeat(64) }),
      canary: async () => ({ bytes: BYTES, sha256: 'a'.repeat(64) }),
      logProof: async () => ({ bytes: BYTES, sha256: 'a'.repeat(64) }),
    },
    service: {
      publicKey: () => ({ key_id: 'sha256:0', algorithm: 'Ed25519', public_key_pem: '', trust_notice: '' }),
    },
  },
};
const KNOWN: Change = {
  server: {
    blobs: {
      receive: async (_caller, { sha256 }) => ({
        isKnown: true,
        stored: { blob: `sha256:${sha256}`, size_bytes: 0, expires_at: '2026-01-01T00:00:00.000Z' },
      }),
    },
  },
};
const UNREADY: Change = {
  server: {
    service: {
      readiness: () => ({
        status: 'unready',
        checks: { store: false, provider: true, free_space: true, accepting: true },
      }),
    },
  },
};
const OPENMETRICS: Change = {
  server: {
    metrics: {
      ofTenant: async () => ({ mediaType: OPENMETRICS_MEDIA_TYPE, text: '# EOF' }),
      ofService: async () => ({ mediaType: OPENMETRICS_MEDIA_TYPE, text: '# EOF' }),
    },
  },
};

describe('an operation succeeds with the status, headers and media type that the document lists:', {
  tags: ['Versioning-1'],
}, () => {
  test.each(operations)('%s', async (_id, operation) => {
    const etag = BUILT.flatMap((page) => [page.html, ...page.files.values()])
      .find(({ path }) => path === pathOf(operation))
      ?.plain().etag;
    const known: Change = { headers: `If-None-Match: ${etag ?? BUILT[1]?.html.plain().etag}\r\n`, server: {} };
    const zipped: Change = { headers: 'Accept-Encoding: gzip\r\n', server: {} };
    const ofPages = operation.path.startsWith('/v1') ? [] : [known, zipped];
    const any: Change = { headers: 'If-None-Match: *\r\n', server: {} };
    for (const change of [SIGNED, KNOWN, UNREADY, OPENMETRICS, any, ...ofPages]) {
      const answer = await ask(operation, change);
      expect(contract.headMismatchOf(operation, answer)).toBeNull();
      if (!answer.text.includes('"error"')) statusesOf(operation).add(answer.status);
    }
    expect(statusesOf(operation)).toEqual(new Set(contract.statusesOf(operation)));
  });
});

test('the front page has exactly the members that the document lists', { tags: ['Pages-1'] }, async () => {
  const front = contract.operations.find(({ path }) => path === '/') as ContractOperation;
  expect(contract.mismatchOf(front, await ask(front, PLAIN))).toBeNull();
});

describe('a path accepts the methods that the document lists, OPTIONS, HEAD if GET is listed, and no others:', {
  tags: ['Endpoints-1a', 'Headers-1', 'Errors-10'],
}, () => {
  const paths = Map.groupBy(contract.operations, ({ path }) => path);
  const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

  test.each([...paths])('%s', async (_path, [operation, ...others]) => {
    const { url } = await serverOf(PLAIN);
    const one = operation as ContractOperation;
    const listed = new Set([one, ...others].map(({ method }) => method)).add('OPTIONS');
    if (listed.has('GET')) listed.add('HEAD');
    const [, path = '', ...lines] = requestOf(one, PLAIN).split(/ HTTP|\r\n| (?=\/)/);
    const authorization = lines.find((line) => line.startsWith('Authorization: '))?.slice('Authorization: '.length);
    const answerTo = (method: string) =>
      fetch(`${url}${path}`, { method, headers: authorization === undefined ? {} : { authorization } });
    const allowed = METHODS.filter((method) => listed.has(method)).join(', ');
    const options = await answerTo('OPTIONS');
    expect([options.status, options.headers.get('allow')]).toEqual([204, allowed]);
    expect(options.headers.has('content-length')).toBe(false);
    for (const method of METHODS.filter((name) => !listed.has(name))) {
      const refused = await answerTo(method);
      expect([method, refused.status, refused.headers.get('allow')]).toEqual([method, 405, allowed]);
    }
    if (!listed.has('GET')) return;
    const [head, get] = [await answerTo('HEAD'), await answerTo('GET')];
    expect(head.status).toBe(get.status);
    // `fetch` sends a HEAD request on a separate connection, so the header `keep-alive` may differ.
    const namesIn = ({ headers }: Response) => [...headers.keys()].filter((name) => name !== 'keep-alive');
    expect(namesIn(head)).toEqual(namesIn(get));
    expect(await head.text()).toBe('');
  });
});

test('metrics are served in both media types that the document lists', () => {
  for (const { id } of contract.operations.filter(({ path }) => path.endsWith('/metrics'))) {
    const types = Object.keys(contract.contentOf(id, 200));
    expect(types.toSorted()).toEqual([OPENMETRICS_MEDIA_TYPE, PROMETHEUS_MEDIA_TYPE].toSorted());
  }
});

/** Texts that a parameter with this schema accepts, and texts that it refuses. */
function textsFor(schema: JsonSchema): { readonly taken: string[]; readonly refused: string[] } {
  const { type, minimum = 0, maximum = 0, maxLength = 0, pattern, enum: words, items } = contract.resolved(schema);
  const listed = words ?? contract.resolved(items ?? {}).enum;
  if (listed !== undefined) {
    const [one = '', other = ''] = listed.map(String);
    const isList = type === 'array';
    return { taken: [one, ...(isList ? [`${one},${other}`] : [])], refused: ['', 'x', `${one},`, `${one} `] };
  }
  if (type === 'integer' || type === 'number') {
    const over = type === 'integer' ? String(BigInt(maximum) + 1n) : String(maximum + 1e-9);
    const refused = ['', 'x', '-1', over, String(minimum - 1), ...(type === 'integer' ? ['1.5', '1e0'] : ['1e9'])];
    return { taken: [String(minimum), String(maximum)], refused };
  }
  const long = 'x'.repeat(maxLength + 1);
  if (pattern === undefined)
    return { taken: ['x', 'a b', 'x'.repeat(maxLength), '\u{1f600}'.repeat(maxLength)], refused: ['', long] };
  return { taken: ['x', 'x'.repeat(maxLength)], refused: ['', 'a b', long] };
}

describe('a parameter accepts the values that its schema allows, and no others:', { tags: ['Versioning-1'] }, () => {
  const all = contract.operations.flatMap((operation) =>
    operation.parameters.map((parameter) => [operation.id, parameter.name, operation, parameter] as const),
  );

  test.each(all)('%s, %s', async (_id, _name, operation, parameter) => {
    const { taken, refused } = textsFor(parameter.schema);
    for (const text of taken)
      expect([text, (await answerTo(operation, parameter, text)).status]).toEqual([text, STATUS[operation.id] ?? 200]);
    for (const text of refused) {
      const answer = await answerTo(operation, parameter, text);
      expect([text, answer.status]).toEqual([text, 400]);
      expect(answer.text.toLowerCase()).toContain(`\\"${parameter.name.toLowerCase()}\\"`);
    }
  });
  const STATUS: Readonly<Record<string, number>> = { submitJob: 201, submitGrading: 201, streamEvents: 101 };

  /** A plain server's answer to the operation with this parameter. */
  async function answerTo(operation: ContractOperation, { name, in: place }: Parameter, text: string): Promise<Answer> {
    const change =
      place === 'query' ? { query: `${name}=${encodeURIComponent(text)}` } : { headers: `${name}: ${text}\r\n` };
    return await askPlain(operation, change);
  }

  test.each(operations.filter(([, { path }]) => path.startsWith('/v1/') || path === '/metrics'))(
    '%s refuses unknown and repeated parameters',
    async (_id, operation) => {
      const names = operation.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
      for (const query of ['surplus=1', '__proto__=1', ...names.map((name) => `${name}=1&${name}=1`)]) {
        expect([query, (await askPlain(operation, { query })).status]).toEqual([query, 400]);
      }
    },
  );
});
