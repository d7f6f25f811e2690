import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ERROR_CODES, ERRORS } from './errors.ts';
import { openApiDocument } from './openapi.ts';
import { COMPONENT_SCHEMAS } from './openapi-schemas.ts';
import { OPERATION_IDS, operationOf } from './operations.ts';

interface ResponseNode {
  $ref?: string;
  description: string;
  headers?: Record<string, unknown>;
}
interface OperationNode {
  description?: string;
  operationId: string;
  responses: Record<string, ResponseNode>;
  parameters?: { name: string; in: string; style?: string; explode?: boolean; schema: Record<string, unknown> }[];
  security: Record<string, string[]>[];
  'x-error-codes': string[];
}
const document = openApiDocument() as {
  openapi: string;
  paths: Record<string, Record<string, OperationNode>>;
  components: { responses: Record<string, ResponseNode>; schemas: Record<string, unknown>; headers: object };
};

function nodeOf(id: (typeof OPERATION_IDS)[number]): OperationNode {
  const { path, method } = operationOf(id);
  return document.paths[path]?.[method.toLowerCase()] as OperationNode;
}

/** Follows a response's reference, as a reader of the document does. */
function resolved(response: ResponseNode): ResponseNode {
  const name = response.$ref?.replace('#/components/responses/', '');
  return name === undefined ? response : (document.components.responses[name] as ResponseNode);
}

const PLAIN = ['X-Request-Id', 'Content-Length', 'Cache-Control', 'X-Content-Type-Options'];
const BUDGET = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];

describe('the OpenAPI document (Spec § Versioning 1)', () => {
  test('equals the checked-in file openapi.json, which `npm run openapi` writes', { tags: ['Versioning-1'] }, () => {
    const stored: unknown = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'));
    expect(document).toEqual(stored);
  });

  test('is OpenAPI 3.1 and has each operation under its path and method', () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    for (const id of OPERATION_IDS) expect(nodeOf(id).operationId).toBe(id);
  });

  test('has every error code in the response with its status', () => {
    for (const code of ERROR_CODES) {
      expect(document.components.responses[`Error${ERRORS[code].status}`]?.description).toContain(`\`${code}\``);
    }
  });

  test.each(OPERATION_IDS)('lists each error code of %s in the response with its status', (id) => {
    for (const code of operationOf(id).errors) {
      expect(nodeOf(id).responses[ERRORS[code].status]?.description).toContain(`\`${code}\``);
    }
    expect(nodeOf(id)['x-error-codes']).toEqual([...operationOf(id).errors].sort());
  });

  test('warns that neither kind of metric is a billing ledger', { tags: ['Routes-6'] }, () => {
    for (const id of ['getTenantMetrics', 'getMetrics'] as const) {
      expect(nodeOf(id).description).toContain('Not a billing ledger');
    }
  });

  test('puts X-Request-Id on every response', () => {
    for (const id of OPERATION_IDS) {
      for (const response of Object.values(nodeOf(id).responses)) {
        expect(resolved(response).headers).toHaveProperty('X-Request-Id');
      }
    }
  });

  test.each([
    ['Error401', 'WWW-Authenticate'],
    ['Error405', 'Allow'],
    ['Error429', 'Retry-After'],
    ['Error503', 'Retry-After'],
    ['Error507', 'Retry-After'],
  ])('states the headers of the response %s: %s', (response, header) => {
    expect(document.components.responses[response]?.headers).toHaveProperty(header);
  });

  test('states the headers of a created job and of an exact document', () => {
    expect(Object.keys(nodeOf('submitJob').responses['201']?.headers ?? {})).toEqual([
      ...PLAIN,
      'Location',
      'Idempotency-Replayed',
      ...BUDGET,
    ]);
    expect(Object.keys(nodeOf('getAttestation').responses['200']?.headers ?? {})).toEqual([
      ...PLAIN,
      'X-Content-Sha256',
      ...BUDGET,
    ]);
  });

  test('states the headers of the request budget for every operation that knows its caller', () => {
    const headersOf = (id: (typeof OPERATION_IDS)[number], status: string) =>
      Object.keys(resolved(nodeOf(id).responses[status] as ResponseNode).headers ?? {});
    expect(headersOf('getWhoami', '200')).toEqual([...PLAIN, ...BUDGET]);
    expect(headersOf('getWhoami', '429')).toEqual([...PLAIN, 'Retry-After', ...BUDGET]);
    expect(headersOf('streamEvents', '101')).toEqual(['X-Request-Id', ...BUDGET]);
    for (const [id, status] of [
      ['getHealth', '200'],
      ['getMetrics', '200'],
    ] as const) {
      expect(headersOf(id, status)).toEqual(PLAIN);
    }
  });

  test('describes a list in the query as one comma-separated parameter', () => {
    const status = nodeOf('listJobs').parameters?.find(({ name }) => name === 'status');
    expect(status).toMatchObject({ in: 'query', style: 'form', explode: false, schema: { type: 'array' } });
  });

  test('accepts a ticket instead of a credential only for a stream', () => {
    for (const id of OPERATION_IDS) {
      const hasTicket = nodeOf(id).security.some((scheme) => 'streamTicket' in scheme);
      expect(hasTicket).toBe(id === 'streamEvents');
    }
  });

  test('has no unresolved reference and no unused component', () => {
    const text = JSON.stringify(document);
    const references = new Set(
      [...text.matchAll(/"#\/components\/([a-z]+\/[A-Za-z0-9-]+)"/gi)].map((match) => match[1]),
    );
    const components = document.components as Record<string, Record<string, unknown>>;
    for (const reference of references) {
      const [kind = '', name = ''] = reference?.split('/') ?? [];
      expect(components[kind]).toHaveProperty([name]);
    }
    for (const name of Object.keys(COMPONENT_SCHEMAS)) expect(references).toContain(`schemas/${name}`);
  });
});
