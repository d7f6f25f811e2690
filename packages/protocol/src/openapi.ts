/**
 * The OpenAPI 3.1 document, made only from the table of operations and the table of errors. It is checked in as `openapi.json`
 * and served at /openapi.json. Spec § Versioning 1.
 */

import type { OperationId } from './endpoints.ts';
import { ERROR_CODES, ERRORS, type ErrorCode } from './errors.ts';
import { always, type HeaderNode, inPath, PAGE_HEADERS, pagePaths } from './openapi-pages.ts';
import { COMPONENT_SCHEMAS, schemaReference, withReferences } from './openapi-schemas.ts';
import type { Answer, AnswerHeader, Operation } from './operation.ts';
import { OPERATION_IDS, operationOf } from './operations.ts';
import { Type } from './type.ts';

/** The contract's own version: it changes when an operation, a body or an error does. */
const CONTRACT_VERSION = '1.0.0';

/** A node of the document. */
type Node = Record<string, unknown>;

const DESCRIPTION = `Runs short, untrusted programs and reports what happened, with evidence of it.

Every answer carries \`X-Request-Id\`; every refusal is the error envelope, whose \`code\` and the HTTP status are
authoritative. \`Retry-After\` is whole seconds and is to be honoured wherever it is present. A request that no operation
matches is answered \`route_not_found\`, a known path with another method \`method_not_allowed\`; under \`/v1\` only with a
credential. Every GET answers HEAD as well, and every path OPTIONS. An answer that is shorter than its \`Content-Length\` is
incomplete and must not be parsed.`;

const count = (minimum: number) => Type.Integer({ minimum });

const HEADERS: Record<AnswerHeader, HeaderNode> = {
  'X-Request-Id': always('Names the request in the log; an error envelope repeats it as `request_id`.', Type.String()),
  Location: always('`/v1/jobs/{id}` of the job.', Type.String()),
  'Idempotency-Replayed': always(
    'Whether the job is that of an earlier request with the same key.',
    Type.Enum(['true', 'false']),
  ),
  'Retry-After': { description: 'Whole seconds to wait before the next try.', schema: count(0), required: false },
  'RateLimit-Limit': always("The burst of the tenant's request budget.", count(1)),
  'RateLimit-Remaining': always('Requests that the budget has left.', count(0)),
  'RateLimit-Reset': always('Whole seconds until the budget is full again.', count(0)),
  'WWW-Authenticate': always('An RFC 6750 challenge; with `error` only where a credential was sent.', Type.String()),
  'Sec-WebSocket-Version': { description: 'The version to speak.', schema: Type.Literal('13'), required: false },
  'X-Content-Sha256': always(
    'SHA-256 of the body as lower-case hex. Refuse a body that does not match it.',
    Type.String({ pattern: '^[0-9a-f]{64}$' }),
  ),
  'Content-Length': always('Exact length of the body in bytes.', count(0)),
  'Cache-Control': always('No cache may keep the answer.', Type.Enum(['no-store'])),
  'X-Content-Type-Options': always('The media type is the one stated.', Type.Enum(['nosniff'])),
  ETag: always('Names what is answered, for `If-None-Match`.', Type.String()),
  Allow: always('The methods that the path takes.', Type.String()),
};

/** Headers with the tenant's request budget. Every answer to a known caller has them. */
const BUDGET_HEADERS: readonly AnswerHeader[] = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];
/** The budget headers on refusals. A refusal may precede authentication, so they may be missing. */
const KNOWN_BUDGET_HEADERS = Object.fromEntries(
  BUDGET_HEADERS.map((name) => [`Known-${name}`, { ...HEADERS[name], required: false }]),
);

/** Headers on every answer over HTTP. A WebSocket's 101 has only the first. */
const PLAIN_HEADERS: readonly AnswerHeader[] = [
  'X-Request-Id',
  'Content-Length',
  'Cache-Control',
  'X-Content-Type-Options',
];

/** Further headers on a refusal, keyed by status. */
const ERROR_HEADERS: Readonly<Record<number, readonly AnswerHeader[]>> = {
  400: ['Sec-WebSocket-Version'],
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  404: ['Retry-After'],
  405: ['Allow'],
  409: ['Retry-After'],
  429: ['Retry-After'],
  503: ['Retry-After'],
  507: ['Retry-After'],
};

/** The whole document as a new JSON value, its members always in the same order. */
export function openApiDocument(): Node {
  return JSON.parse(
    JSON.stringify({
      openapi: '3.1.1',
      info: {
        title: 'vouchbox: sandboxed code execution',
        version: CONTRACT_VERSION,
        description: DESCRIPTION,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/' }],
      tags: [
        { name: 'jobs', description: 'Submit programs, follow them, read their results.' },
        { name: 'gradings', description: 'Programs against tests, in one request.' },
        { name: 'sessions', description: 'Steps that begin with what the step before left.' },
        { name: 'blobs', description: 'Large input files, uploaded before the jobs that name them.' },
        { name: 'evidence', description: 'Signed, exact bytes that anyone can check.' },
        { name: 'service', description: 'The service and the caller.' },
        { name: 'public', description: 'Open to everyone, or to a token of its own.' },
        { name: 'pages', description: 'For people. A service may lack all of them but the first.' },
      ],
      paths: { ...paths(), ...pagePaths() },
      components: {
        securitySchemes: SECURITY_SCHEMES,
        parameters: PATH_PARAMETERS,
        headers: { ...HEADERS, ...KNOWN_BUDGET_HEADERS, ...PAGE_HEADERS },
        responses: Object.fromEntries(
          errorStatuses(ERROR_CODES).map((status) => [`Error${status}`, errorResponse(status)]),
        ),
        schemas: Object.fromEntries(
          Object.entries(COMPONENT_SCHEMAS).map(([name, schema]) => [name, withReferences(schema, name)]),
        ),
      },
    }),
  ) as Node;
}

const SECURITY_SCHEMES = {
  credential: {
    type: 'http',
    scheme: 'bearer',
    description:
      'An indexed key, an RFC 9068 JWT or a legacy key. The names listed with it are the scopes it needs. `x-scope` of a ' +
      'parameter is one more scope, which it needs where it does not have its default.',
  },
  streamTicket: {
    type: 'apiKey',
    in: 'query',
    name: 'ticket',
    description: 'A one-use, job-bound ticket for a WebSocket stream.',
  },
  link: { type: 'http', scheme: 'bearer', description: 'The secret of a link, which opens nothing else.' },
  metricsToken: {
    type: 'http',
    scheme: 'bearer',
    description: "The operator's metrics token; never a tenant credential.",
  },
};

const PATH_PARAMETERS = {
  JobId: inPath('id', 'A job id.', Type.String()),
  EventNumber: inPath('seq', 'The number of the event of a call.', count(1)),
  GradingId: inPath('grading', 'The id of a grading.', Type.String()),
  LinkId: inPath('link', 'The id of a link.', Type.String()),
  BlobDigest: inPath('sha256', 'The SHA-256 of the file.', Type.String({ pattern: '^[0-9a-f]{64}$' })),
};

/** The parameters in a path, as the path item lists them. A path without parameters gives an empty node. */
function parametersOf(path: string): Node {
  const named = Object.entries(PATH_PARAMETERS).filter(([, parameter]) => path.includes(`{${parameter.name}}`));
  const parameters = named.map(([name]) => ({ $ref: `#/components/parameters/${name}` }));
  return parameters.length === 0 ? {} : { parameters };
}

function paths(): Node {
  const items: Record<string, Node> = {};
  for (const id of OPERATION_IDS) {
    const operation = operationOf(id);
    items[operation.path] ??= parametersOf(operation.path);
    Object.assign(items[operation.path] as Node, { [operation.method.toLowerCase()]: operationNode(id, operation) });
  }
  return items;
}

function operationNode(id: OperationId, operation: Operation): Node {
  const parameters = [...parametersIn('query', operation), ...parametersIn('header', operation)];
  return {
    operationId: id,
    tags: [operation.tag],
    summary: operation.summary,
    description: operation.description,
    security: security(operation),
    parameters: parameters.length > 0 ? parameters : undefined,
    requestBody: operation.body && {
      required: !operation.body.isOptional,
      description: `At most ${operation.body.bytesMax} bytes, encoded.`,
      content: { [operation.body.mediaType ?? 'application/json']: { schema: withReferences(operation.body.schema) } },
    },
    responses: responses(operation),
    'x-close-codes': operation.closeCodes,
    'x-last-frame': operation.lastFrame && withReferences(operation.lastFrame),
    'x-client-message': operation.clientMessage && withReferences(operation.clientMessage),
    'x-refusal-frame': operation.refusalFrame && withReferences(operation.refusalFrame),
    'x-error-codes': [...operation.errors].sort(),
    'x-capacity': operation.capacity,
  };
}

/** A stream's ticket is a security scheme, so it is not listed again as a parameter. */
function parametersIn(place: 'query' | 'header', operation: Operation): Node[] {
  const schemas = place === 'query' ? operation.query : operation.headers;
  return Object.entries(schemas?.properties ?? {})
    .filter(([name]) => !(operation.ticket && name === 'ticket'))
    .map(([name, property]) => {
      const { description, ...schema } = withReferences(property) as Node;
      const required = schemas?.required?.includes(name) ?? false;
      const list = schema['type'] === 'array' ? { style: 'form', explode: false } : {};
      const scope = place === 'query' ? operation.queryAccess?.[name] : undefined;
      return { name, in: place, required, description, ...list, 'x-scope': scope, schema };
    });
}

function security({ access, alsoAccess, ticket }: Operation): Node[] {
  if (access === 'public') return [];
  if (access === 'metrics_token') return [{ metricsToken: [] }];
  const credential = {
    credential: access === 'credential' ? [] : [access, ...(alsoAccess === undefined ? [] : [alsoAccess])],
  };
  return ticket ? [credential, { streamTicket: [] }] : [credential];
}

function responses(operation: Operation): Node {
  const answers = Object.entries(operation.answers).map(([status, answer]) => [Number(status), answer] as const);
  const errors = errorStatuses(operation.errors);
  const nodes: Node = {};
  for (const [status, answer] of answers) {
    nodes[status] = answerResponse(status, isBudgeted(operation) ? withBudget(answer) : answer);
  }
  for (const status of errors) {
    nodes[status] ??= {
      $ref: `#/components/responses/Error${status}`,
      description: meanings(codesOf(operation.errors, status)),
    };
  }
  return nodes;
}

function isBudgeted({ access }: Operation): boolean {
  return access !== 'public' && access !== 'metrics_token';
}

function withBudget(answer: Answer): Answer {
  return { ...answer, headers: [...answer.headers, ...BUDGET_HEADERS] };
}

/** A success of an operation, as a response. */
function answerResponse(status: number, { description, content, headers }: Answer): Node {
  const bodies = Object.entries(content).map(([mediaType, body]) => [mediaType, { schema: withReferences(body) }]);
  const whole = status === 304 ? PLAIN_HEADERS.filter((name) => name !== 'Content-Length') : PLAIN_HEADERS;
  const plain = status === 101 ? (['X-Request-Id'] as const) : whole;
  return {
    description,
    headers: headerNodes([...new Set([...plain, ...headers])]),
    content: bodies.length > 0 ? Object.fromEntries(bodies) : undefined,
  };
}

function errorResponse(status: number): Node {
  const codes = codesOf(ERROR_CODES, status);
  const budget = BUDGET_HEADERS.map((name) => [name, { $ref: `#/components/headers/Known-${name}` }]);
  return {
    description: meanings(codes),
    headers: { ...headerNodes([...PLAIN_HEADERS, ...(ERROR_HEADERS[status] ?? [])]), ...Object.fromEntries(budget) },
    content: { 'application/json': { schema: errorSchema(codes) } },
  };
}

/** The error envelope, narrowed to the codes that this answer may have. */
function errorSchema(codes: readonly ErrorCode[]): Node {
  const code = { enum: [...codes] };
  return { allOf: [schemaReference('ErrorEnvelope'), { properties: { error: { properties: { code } } } }] };
}

function headerNodes(names: readonly AnswerHeader[]): Node {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function errorStatuses(codes: readonly ErrorCode[]): number[] {
  return [...new Set(codes.map((code) => ERRORS[code].status))].sort((a, b) => a - b);
}

function codesOf(codes: readonly ErrorCode[], status: number): ErrorCode[] {
  return codes.filter((code) => ERRORS[code].status === status);
}

function meanings(codes: readonly ErrorCode[]): string {
  return codes.map((code) => `\`${code}\`: ${ERRORS[code].meaning}`).join(' ');
}
