import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createRateBudget } from './rate.ts';
import { sharedRate } from './shared-rate.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Nodes that hear each other at once. Their clock stands still unless the test moves it. */
function nodes(count: number) {
  const listeners = Array.from({ length: count }, () => [] as ((topics: readonly string[]) => void)[]);
  const told: string[] = [];
  const clock = { milliseconds: 0 };
  const budgets = (word?: string) =>
    listeners.map((own, node) =>
      sharedRate(
        createRateBudget({ perSecond: 1, burst: 4 }, () => clock.milliseconds),
        {
          node,
          owners: () => [...listeners.keys()],
          tell(topic, to) {
            told.push(topic);
            for (const hear of listeners[to] ?? []) hear([topic]);
          },
          listen: (listener) => own.push((topics) => listener.heard(topics)),
        },
        word,
      ),
    );
  return { budgets, clock, told };
}

/** Waits until the nodes have nothing more to tell each other. */
const allTold = () => vi.runAllTimersAsync();

test('a request at one node also uses up the tenant’s budget at the other nodes', async () => {
  const [one, other] = nodes(2).budgets();
  for (let spent = 0; spent < 3; spent++) one?.spend('acme');
  await allTold();
  expect(other?.spend('acme').allowed).toBe(true);
  await allTold();
  for (const budget of [one, other])
    expect(budget?.spend('acme')).toMatchObject({ allowed: false, remaining: 0, retryAfterSeconds: 1 });
  expect(other?.spend('beta').remaining).toBe(3);
});

test('a tenant that spent its burst at two nodes at once must earn both bursts back before its next request', {
  tags: ['Limits-27a'],
}, async () => {
  const { budgets, clock } = nodes(2);
  const both = budgets();
  for (const budget of both) for (let spent = 0; spent < 4; spent++) expect(budget.spend('acme').allowed).toBe(true);
  await allTold();
  clock.milliseconds = 4000;
  expect(both.map((budget) => budget.spend('acme').allowed)).toEqual([false, false]);
  clock.milliseconds = 5000;
  expect(both[0]?.spend('acme').allowed).toBe(true);
});

test('a charge at one node lowers the charged budget of the tenant at all nodes, and no other budget', {
  tags: ['Blobs-11'],
}, async () => {
  const { budgets } = nodes(3);
  const [received, spent] = [budgets('received'), budgets('spent')];
  received[0]?.charge('acme', 4);
  await allTold();
  for (const budget of received) budget.spend('acme');
  await allTold();
  expect(received.map((budget) => budget.spend('acme').allowed)).toEqual([false, false, false]);
  expect(spent.map((budget) => budget.spend('acme').remaining)).toEqual([3, 3, 3]);
});

test("a tenant's requests at 100 nodes cause at most a few messages for each node", async () => {
  const { budgets, told } = nodes(100);
  for (const budget of budgets()) budget.spend('acme');
  await allTold();
  expect(told.filter((topic) => topic.startsWith('spent ')).length).toBe(99);
  expect(told.length).toBeLessThanOrEqual(4 * 99);
});
