import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createRateBudget } from './rate.ts';
import { sharedRate } from './shared-rate.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Budgets of nodes that hear each other at once, on a clock that stands still unless it is moved. */
function nodes(count: number, words: readonly string[] = []) {
  const listeners: ((topics: readonly string[]) => void)[] = [];
  const clock = { milliseconds: 0 };
  const budgets = Array.from({ length: count }, (_, node) =>
    sharedRate(
      createRateBudget({ perSecond: 1, burst: 4 }, () => clock.milliseconds),
      {
        tell(topic) {
          for (const [other, hear] of listeners.entries()) if (other !== node) hear([topic]);
        },
        listen: (listener) => listeners.push((topics) => listener.heard(topics)),
      },
      words[node],
    ),
  );
  return { budgets, clock };
}

test('what a tenant spends at one node is taken from its budget at the others', () => {
  const { budgets } = nodes(2);
  const [one, other] = budgets;
  for (let spent = 0; spent < 3; spent++) one?.spend('acme');
  vi.runAllTimers();
  expect(other?.spend('acme')).toMatchObject({ allowed: true, remaining: 0 });
  expect(other?.spend('acme')).toMatchObject({ allowed: false, remaining: 0, retryAfterSeconds: 1 });
  expect(other?.spend('beta').remaining).toBe(3);
});

test('a tenant that spent its burst at two nodes at once waits until it has earned both back', {
  tags: ['Limits-27a'],
}, () => {
  const { budgets, clock } = nodes(2);
  for (const budget of budgets) for (let spent = 0; spent < 4; spent++) expect(budget.spend('acme').allowed).toBe(true);
  vi.runAllTimers();
  clock.milliseconds = 4000;
  expect(budgets.map((budget) => budget.spend('acme').allowed)).toEqual([false, false]);
  clock.milliseconds = 5000;
  expect(budgets[0]?.spend('acme').allowed).toBe(true);
});

test('what is charged at one node is charged at the others, and to no other budget', { tags: ['Blobs-11'] }, () => {
  const { budgets } = nodes(3, ['received', 'received', 'spent']);
  budgets[0]?.charge('acme', 3);
  vi.runAllTimers();
  expect(budgets.map((budget) => budget.spend('acme').remaining)).toEqual([0, 0, 3]);
});
