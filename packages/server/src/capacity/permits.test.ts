import { describe, expect, test } from 'vitest';
import type { ServiceError } from '../ground/service-error.ts';
import { createPermits, PERMIT_KINDS, type PermitBound, type PermitKind, type Permits } from './permits.ts';

const bounds = (bound: PermitBound) =>
  Object.fromEntries(PERMIT_KINDS.map((kind) => [kind, bound])) as Record<PermitKind, PermitBound>;

const stay = () => {};

/** A permit that is claimed at once. */
function take(permits: Permits, ...request: Parameters<Permits['reserve']>) {
  const permit = permits.reserve(...request);
  permit.claim();
  return permit;
}

test('different kinds of permits are counted separately', () => {
  const permits = createPermits(bounds({ total: 1, perTenant: 1 }));
  for (const kind of PERMIT_KINDS) take(permits, kind, 'a', stay);
  expect(PERMIT_KINDS.map((kind) => permits.held(kind))).toEqual([1, 1, 1, 1]);
});

test('a permit is returned once, however often it is disposed', () => {
  const permits = createPermits(bounds({ total: 5, perTenant: 5 }));
  const first = take(permits, 'body', 'a', stay);
  take(permits, 'body', 'a', stay);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  expect(permits.held('body')).toBe(1);
});

test('a refused request for a permit changes no count', () => {
  const permits = createPermits(bounds({ total: 1, perTenant: 1 }));
  {
    using _held = take(permits, 'response', 'a', stay);
    expect(() => take(permits, 'response', 'b', stay)).toThrow('in flight');
  }
  expect(permits.held('response')).toBe(0);
  using _next = take(permits, 'response', 'b', stay);
  expect(permits.held('response')).toBe(1);
});

test('a tenant named like an inherited property has the same bounds as any other tenant', () => {
  const permits = createPermits(bounds({ total: 5, perTenant: 1 }));
  take(permits, 'wait', '__proto__', stay);
  expect(() => take(permits, 'wait', '__proto__', stay)).toThrow('in flight');
});

describe('if tenants hold all permits', () => {
  /** Permits for bodies, and a list of those that gave way, in order. */
  function crowd(bound: PermitBound) {
    const permits = createPermits(bounds(bound));
    const gaveWay: string[] = [];
    const refusals: ServiceError[] = [];
    return {
      permits,
      gaveWay,
      refusals,
      take: (tenant: string, name = tenant) =>
        take(permits, 'body', tenant, (refusal) => {
          gaveWay.push(name);
          refusals.push(refusal);
        }),
    };
  }
  const hold = ({ take }: ReturnType<typeof crowd>, tenant: string, count: number) => {
    for (let index = 1; index <= count; index++) take(tenant, `${tenant}${index}`);
  };

  test.each([
    [1, 24],
    [3, 8],
    [10, 3],
    [12, 2],
  ])(
    'a tenant without a permit gets one at once, because one of the %i tenants gives up a permit',
    { tags: ['Errors-18a', 'CROWD-01'] },
    (tenants, each) => {
      const held = crowd({ total: tenants * each, perTenant: each });
      for (let tenant = 0; tenant < tenants; tenant++) hold(held, `t${tenant}-`, each);
      using _place = held.take('newcomer');
      expect(held.gaveWay).toEqual(['t0-1']);
      expect(held.permits.held('body')).toBe(tenants * each);
      expect(held.refusals[0]).toMatchObject({ code: 'tenant_capacity_exhausted', status: 429, retryAfterSeconds: 1 });
    },
  );

  test('the tenant with the most permits gives up its oldest permit, until no tenant has two more than another', {
    tags: ['Errors-18a'],
  }, () => {
    const held = crowd({ total: 9, perTenant: 8 });
    hold(held, 'few', 2);
    hold(held, 'many', 7);
    for (let index = 0; index < 3; index++) held.take('third');
    expect(held.gaveWay).toEqual(['many1', 'many2', 'many3']);
    held.take('few', 'few3');
    expect(held.gaveWay.at(-1)).toBe('many4');
    for (const tenant of ['few', 'many', 'third']) expect(() => held.take(tenant)).toThrow('The service has 9');
  });

  test('a tenant that has only one permit keeps this permit', () => {
    const held = crowd({ total: 2, perTenant: 8 });
    hold(held, 'a', 1);
    hold(held, 'b', 1);
    expect(() => held.take('c')).toThrow(expect.objectContaining({ code: 'capacity_exhausted' }));
    expect(held.gaveWay).toEqual([]);
  });

  test('disposing a revoked permit does not count it as returned again', () => {
    const held = crowd({ total: 2, perTenant: 2 });
    const first = held.take('a');
    held.take('a');
    held.take('b');
    first[Symbol.dispose]();
    expect(held.permits.held('body')).toBe(2);
  });
});

describe('a reservation while tenants hold all permits', () => {
  test('makes a tenant give way only when the reservation is claimed, and only if all permits are still held', () => {
    const permits = createPermits(bounds({ total: 3, perTenant: 3 }));
    const gaveWay: string[] = [];
    const [, second] = ['first', 'second', 'third'].map((name) => take(permits, 'wait', 'a', () => gaveWay.push(name)));
    permits.reserve('wait', 'b', stay)[Symbol.dispose]();
    expect([gaveWay, permits.held('wait')]).toEqual([[], 3]);
    permits.reserve('wait', 'b', stay).claim();
    expect([gaveWay, permits.held('wait')]).toEqual([['first'], 3]);
    const late = permits.reserve('wait', 'c', stay);
    second?.[Symbol.dispose]();
    late.claim();
    expect([gaveWay, permits.held('wait')]).toEqual([['first'], 3]);
  });

  test('makes a tenant give way at its own claim, and not at the claim of an earlier reservation within the bound', () => {
    const permits = createPermits(bounds({ total: 2, perTenant: 2 }));
    const gaveWay: string[] = [];
    const [, second] = ['first', 'second'].map((name) => permits.reserve('wait', 'a', () => gaveWay.push(name)));
    const other = permits.reserve('wait', 'b', stay);
    second?.claim();
    expect(gaveWay).toEqual([]);
    other.claim();
    expect([gaveWay, permits.held('wait')]).toEqual([['first'], 2]);
  });

  test('takes no place until it is claimed, so that another request can claim a free place and no tenant gives way', () => {
    const permits = createPermits(bounds({ total: 3, perTenant: 3 }));
    const gaveWay: string[] = [];
    const [first] = ['first', 'second', 'third'].map((name) => take(permits, 'wait', 'a', () => gaveWay.push(name)));
    using _short = permits.reserve('wait', 'b', stay);
    const late = permits.reserve('wait', 'c', stay);
    first?.[Symbol.dispose]();
    late.claim();
    expect([gaveWay, permits.held('wait')]).toEqual([[], 3]);
  });

  test('claims its place at once if there are as many unclaimed reservations as places', () => {
    const permits = createPermits(bounds({ total: 2, perTenant: 2 }));
    const gaveWay: string[] = [];
    for (const name of ['first', 'second']) take(permits, 'response', 'a', () => gaveWay.push(name));
    for (const tenant of ['b', 'c']) permits.reserve('response', tenant, stay);
    expect(gaveWay).toEqual([]);
    permits.reserve('response', 'd', stay);
    expect([gaveWay, permits.held('response')]).toEqual([['first'], 2]);
    expect(() => permits.reserve('response', 'e', stay)).toThrow('The service has 2');
  });

  test('is refused at once if no tenant would give way, and at its claim if no tenant would give way by then', () => {
    const permits = createPermits(bounds({ total: 2, perTenant: 2 }));
    for (const _ of [1, 2]) take(permits, 'wait', 'a', stay);
    const late = permits.reserve('wait', 'b', stay);
    permits.reserve('wait', 'c', stay).claim();
    expect(() => late.claim()).toThrow(expect.objectContaining({ code: 'capacity_exhausted' }));
    expect(permits.held('wait')).toBe(2);
    expect(() => permits.reserve('wait', 'd', stay)).toThrow('The service has 2');
  });
});

test('permits count as crowded once more than half of them are taken', () => {
  const permits = createPermits(bounds({ total: 4, perTenant: 4 }));
  const crowded = [1, 2, 3].map(() => {
    take(permits, 'body', 'a', stay);
    return permits.isCrowded('body');
  });
  expect(crowded).toEqual([false, false, true]);
});
