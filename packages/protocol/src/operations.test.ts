import { describe, expect, test } from 'vitest';
import { ERRORS } from './errors.ts';
import { OPERATION_IDS, operationOf } from './operations.ts';
import { SCOPES } from './scopes.ts';

const operations = OPERATION_IDS.map((id) => [id, operationOf(id)] as const);

describe('the table of operations (Spec § Endpoints)', () => {
  test.each(operations)(
    'lists 401 exactly for operations with a credential, and 403 exactly for operations with a scope: %s',
    (_id, operation) => {
      expect(operation.errors.includes('unauthorized')).toBe(operation.access !== 'public');
      expect(operation.errors.includes('insufficient_scope')).toBe(
        (SCOPES as readonly string[]).includes(operation.access),
      );
    },
  );

  test.each(operations)('lists job_not_found exactly for operations whose path names a job: %s', (_id, operation) => {
    expect(operation.errors.includes('job_not_found')).toBe(operation.path.includes('{id}'));
  });

  test.each(operations)(
    'lists tenant_capacity_exhausted exactly for operations that take a permit, and for every POST: %s',
    (_id, operation) => {
      const held = operation.capacity.some((capacity) => capacity !== 'connection');
      expect(operation.errors.includes('tenant_capacity_exhausted')).toBe(held || operation.method === 'POST');
    },
  );

  test.each(operations)('lists each error of an operation once: %s', (_id, operation) => {
    expect(new Set(operation.errors).size).toBe(operation.errors.length);
    for (const code of operation.errors) expect(ERRORS).toHaveProperty(code);
  });

  test('requires no permit beyond a connection for a cancellation, because a cancellation can relieve a full service', {
    tags: ['Cancel-3'],
  }, () => {
    expect(operationOf('cancelJob').capacity).toEqual(['connection']);
  });
});
