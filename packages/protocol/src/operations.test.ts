import { describe, expect, test } from 'vitest';
import { ERRORS } from './errors.ts';
import { OPERATION_IDS, operationOf } from './operations.ts';
import { SCOPES } from './scopes.ts';

/** The endpoint table of the specification and the stream, with the scope that each requires. */
const ENDPOINTS = [
  ['GET', '/healthz', 'public'],
  ['GET', '/readyz', 'public'],
  ['GET', '/openapi.json', 'public'],
  ['POST', '/v1/jobs', 'jobs:submit'],
  ['GET', '/v1/jobs', 'jobs:read'],
  ['GET', '/v1/jobs/{id}', 'jobs:read'],
  ['DELETE', '/v1/jobs/{id}', 'jobs:cancel'],
  ['GET', '/v1/jobs/{id}/result', 'jobs:read'],
  ['GET', '/v1/jobs/{id}/replay', 'jobs:read'],
  ['POST', '/v1/jobs/{id}/stream-ticket', 'jobs:read'],
  ['GET', '/v1/jobs/{id}/stream', 'jobs:read'],
  ['GET', '/v1/jobs/{id}/attestation', 'jobs:read'],
  ['GET', '/v1/jobs/{id}/result-artifact', 'jobs:read'],
  ['GET', '/v1/attestation/public-key', 'service:read'],
  ['GET', '/v1/capabilities', 'service:read'],
  ['GET', '/v1/whoami', 'credential'],
  ['GET', '/v1/status', 'service:read'],
  ['GET', '/v1/metrics', 'metrics:read'],
  ['GET', '/metrics', 'metrics_token'],
];

const operations = OPERATION_IDS.map((id) => [id, operationOf(id)] as const);

describe('the table of operations (Spec § Endpoints)', () => {
  test('equals the endpoint table, each route with its scope', {
    tags: ['Endpoints-1', 'Stream-6', 'Versioning-2'],
  }, () => {
    const table = operations.map(([, { method, path, access }]) => `${method} ${path} ${access}`);
    expect(table.sort()).toEqual(ENDPOINTS.map((row) => row.join(' ')).sort());
  });

  test.each(operations)(
    'lists 401 for %s exactly if it requires a credential, and 403 exactly if it requires a scope',
    (_id, operation) => {
      expect(operation.errors.includes('unauthorized')).toBe(operation.access !== 'public');
      expect(operation.errors.includes('insufficient_scope')).toBe(
        (SCOPES as readonly string[]).includes(operation.access),
      );
    },
  );

  test.each(operations)('lists job_not_found for %s exactly if it names a job', (_id, operation) => {
    expect(operation.errors.includes('job_not_found')).toBe(operation.path.includes('{id}'));
  });

  test.each(operations)("lists the tenant's 429 for %s exactly if it holds a permit", (_id, operation) => {
    const held = operation.capacity.some((capacity) => capacity !== 'connection');
    expect(operation.errors.includes('tenant_capacity_exhausted')).toBe(held || operation.method === 'POST');
  });

  test.each(operations)('lists each error of %s once', (_id, operation) => {
    expect(new Set(operation.errors).size).toBe(operation.errors.length);
    for (const code of operation.errors) expect(ERRORS).toHaveProperty(code);
  });

  test('lets cancellation hold no permit, so that a full service can be relieved', { tags: ['Cancel-3'] }, () => {
    expect(operationOf('cancelJob').capacity).toEqual(['connection']);
  });
});
