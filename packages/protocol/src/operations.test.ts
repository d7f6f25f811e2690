import { describe, expect, test } from 'vitest';
import { ERRORS } from './errors.ts';
import { OPERATION_IDS, operationOf } from './operations.ts';
import { SCOPES } from './scopes.ts';

/** The endpoint table of the specification and the stream, with the scope that each asks for. */
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
  test('is the endpoint table, each route with its scope', {
    tags: ['Endpoints-1', 'Stream-6', 'Versioning-2'],
  }, () => {
    const table = operations.map(([, { method, path, access }]) => `${method} ${path} ${access}`);
    expect(table.sort()).toEqual(ENDPOINTS.map((row) => row.join(' ')).sort());
  });

  test.each(operations)(
    '%s answers 401 exactly if it asks for a credential, and 403 exactly if for a scope',
    (_id, operation) => {
      expect(operation.errors.includes('unauthorized')).toBe(operation.access !== 'public');
      expect(operation.errors.includes('insufficient_scope')).toBe(
        (SCOPES as readonly string[]).includes(operation.access),
      );
    },
  );

  test.each(operations)('%s answers job_not_found exactly if it names a job', (_id, operation) => {
    expect(operation.errors.includes('job_not_found')).toBe(operation.path.includes('{id}'));
  });

  test.each(operations)('%s answers 429 for tenant capacity exactly if it holds some', (_id, operation) => {
    const held = operation.capacity.some((capacity) => capacity !== 'connection');
    expect(operation.errors.includes('tenant_capacity_exhausted')).toBe(held || operation.method === 'POST');
  });

  test.each(operations)('%s lists each error once', (_id, operation) => {
    expect(new Set(operation.errors).size).toBe(operation.errors.length);
    for (const code of operation.errors) expect(ERRORS).toHaveProperty(code);
  });

  test('cancellation waits for no permit, so that a full service can be relieved', { tags: ['Cancel-3'] }, () => {
    expect(operationOf('cancelJob').capacity).toEqual(['connection']);
  });
});
