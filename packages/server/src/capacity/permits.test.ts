import { expect, test } from 'vitest';
import { createPermits, PERMIT_KINDS, type PermitBound, type PermitKind } from './permits.ts';

const bounds = (bound: PermitBound) =>
  Object.fromEntries(PERMIT_KINDS.map((kind) => [kind, bound])) as Record<PermitKind, PermitBound>;

test('a tenant holds permits up to its bound, and the next is refused with tenant_capacity_exhausted', () => {
  const permits = createPermits(bounds({ total: 10, perTenant: 2 }));
  permits.take('wait', 'a');
  permits.take('wait', 'a');
  expect(() => permits.take('wait', 'a')).toThrow(
    expect.objectContaining({ code: 'tenant_capacity_exhausted', status: 429, retryAfterSeconds: 1 }),
  );
  permits.take('wait', 'b');
  expect(permits.held('wait')).toBe(3);
});

test('the service grants permits up to its bound, and refuses the next with capacity_exhausted', () => {
  const permits = createPermits(bounds({ total: 2, perTenant: 2 }));
  permits.take('stream', 'a');
  permits.take('stream', 'b');
  expect(() => permits.take('stream', 'c')).toThrow(
    expect.objectContaining({ code: 'capacity_exhausted', status: 503 }),
  );
});

test('kinds are counted separately', () => {
  const permits = createPermits(bounds({ total: 1, perTenant: 1 }));
  for (const kind of PERMIT_KINDS) permits.take(kind, 'a');
  expect(PERMIT_KINDS.map((kind) => permits.held(kind))).toEqual([1, 1, 1, 1]);
});

test('a permit is returned once, however often it is disposed', () => {
  const permits = createPermits(bounds({ total: 5, perTenant: 5 }));
  const first = permits.take('body', 'a');
  permits.take('body', 'a');
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  expect(permits.held('body')).toBe(1);
});

test('a refused request leaves nothing behind', () => {
  const permits = createPermits(bounds({ total: 1, perTenant: 1 }));
  {
    using _held = permits.take('response', 'a');
    expect(() => permits.take('response', 'b')).toThrow('in flight');
  }
  expect(permits.held('response')).toBe(0);
  using _next = permits.take('response', 'b');
  expect(permits.held('response')).toBe(1);
});

test('a tenant with the name of an inherited property is like any other', () => {
  const permits = createPermits(bounds({ total: 5, perTenant: 1 }));
  permits.take('wait', '__proto__');
  expect(() => permits.take('wait', '__proto__')).toThrow('in flight');
});
