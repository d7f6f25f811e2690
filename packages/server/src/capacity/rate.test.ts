import fc from 'fast-check';
import { expect, inject, test } from 'vitest';
import { createRateBudget } from './rate.ts';

/** A budget of 20 a second, burst 3, and a clock that the test moves. */
function budget(bound = { perSecond: 20, burst: 3 }) {
  let now = 0;
  const rate = createRateBudget(bound, () => now);
  return { rate, pass: (milliseconds: number) => (now += milliseconds) };
}

test('a full bucket allows as many requests as its burst, and refuses the next one', () => {
  const { rate } = budget();
  expect([1, 2, 3, 4].map(() => rate.spend('a').allowed)).toEqual([true, true, true, false]);
});

test('an empty bucket allows the next request as soon as one token is refilled', () => {
  const { rate, pass } = budget();
  for (let index = 0; index < 3; index += 1) rate.spend('a');
  pass(49);
  expect(rate.spend('a').allowed).toBe(false);
  pass(1);
  expect(rate.spend('a').allowed).toBe(true);
  expect(rate.spend('a').allowed).toBe(false);
});

test('Retry-After is a whole number of seconds after which a request is allowed', { tags: ['Errors-24'] }, () => {
  const { rate, pass } = budget({ perSecond: 0.4, burst: 1 });
  rate.spend('a');
  const { retryAfterSeconds } = rate.spend('a');
  expect(retryAfterSeconds).toBe(3);
  pass(retryAfterSeconds * 1000);
  expect(rate.spend('a').allowed).toBe(true);
});

test('tenants have their own buckets', () => {
  const { rate } = budget({ perSecond: 1, burst: 1 });
  expect([rate.spend('a'), rate.spend('a'), rate.spend('b')].map(({ allowed }) => allowed)).toEqual([
    true,
    false,
    true,
  ]);
});

test('an answer states how many requests are left and when the bucket is full again', () => {
  const { rate } = budget({ perSecond: 1, burst: 3 });
  expect(rate.spend('a')).toEqual({ allowed: true, limit: 3, remaining: 2, resetSeconds: 1, retryAfterSeconds: 0 });
});

test('dropping the full bucket of a tenant changes nothing for that tenant', () => {
  const { rate, pass } = budget();
  for (let index = 0; index < 3; index += 1) rate.spend('kept');
  for (let index = 0; index < 5000; index += 1) rate.spend(`t${index}`);
  expect(rate.spend('kept').allowed).toBe(false);
  pass(60_000);
  for (let index = 0; index < 5000; index += 1) rate.spend(`u${index}`);
  expect(rate.spend('kept').remaining).toBe(2);
});

test('whenever requests come, no more are allowed than the burst plus the refilled tokens', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(200), { maxLength: 200 }), (gaps) => {
      const { rate, pass } = budget();
      let elapsed = 0;
      let allowed = 0;
      for (const gap of gaps) {
        elapsed += gap;
        pass(gap);
        if (rate.spend('a').allowed) allowed += 1;
      }
      return allowed <= 3 + (elapsed / 1000) * 20 + 1e-6;
    }),
    { seed: inject('propertySeed') },
  );
});
