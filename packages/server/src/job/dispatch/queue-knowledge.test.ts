import { expect, test } from 'vitest';
import { QueueKnowledge } from './queue-knowledge.ts';

const shares = { slots: 4, tenantSlots: null };
const empty = { isEmpty: true, tenants: [] };

test('after a read that found no job, the queue counts as empty until a job enters the queue', async () => {
  const queue = new QueueKnowledge();
  expect(queue.isSurelyEmpty).toBe(false);
  queue.look()(empty);
  expect(queue.isSurelyEmpty).toBe(true);
  await queue.enter(async () => expect(queue.isSurelyEmpty).toBe(false));
  expect(queue.isSurelyEmpty).toBe(false);
});

test('a read of the queue proves nothing if a job entered or `doubt` was called during the read', async () => {
  const queue = new QueueKnowledge();
  const entered = queue.look();
  await queue.enter(async () => {});
  entered(empty);
  expect(queue.isSurelyEmpty).toBe(false);
  const doubted = queue.look();
  queue.doubt();
  doubted(empty);
  expect(queue.isSurelyEmpty).toBe(false);
});

test('a tenant may use every slot only if a read of the queue found no other tenant', () => {
  const queue = new QueueKnowledge();
  expect(queue.shareOf('acme', shares)).toBe(3);
  queue.look()({ isEmpty: false, tenants: ['acme'] });
  expect(queue.shareOf('acme', shares)).toBe(4);
});

test('a tenant that submits its first job counts as a second tenant, even if none of its jobs was queued', () => {
  const queue = new QueueKnowledge();
  queue.look()({ isEmpty: true, tenants: ['acme'] });
  expect(queue.shareOf('umbrella', shares)).toBe(3);
  expect(queue.shareOf('acme', shares)).toBe(3);
});
