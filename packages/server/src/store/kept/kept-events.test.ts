import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { StoredEvent } from '../records/rows.ts';
import { KeptEvents } from './kept-events.ts';

const key = { tenant: 'acme', job_id: 'job' };
const rows = [{ seq: 7, data: '{}' }] as unknown as readonly StoredEvent[];

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('events kept in memory are returned only to a reader whose cursor is just before these events', () => {
  const kept = new KeptEvents(1000);
  kept.keep(key, rows);
  expect(kept.page({ key, after: 6, limit: 1 })).toMatchObject({ events: [{ seq: 7, data: {} }], complete: false });
  expect(kept.page({ key, after: 5, limit: 9 })).toBeNull();
  expect(kept.page({ key: { ...key, tenant: 'other' }, after: 6, limit: 1 })).toBeNull();
});

test('events kept in memory are never returned as a page if there is a gap between them', () => {
  const kept = new KeptEvents(1000);
  kept.keep(key, [...rows, { ...rows[0], seq: 9 } as StoredEvent]);
  expect(kept.page({ key, after: 6, limit: 9 })).toBeNull();
  expect(kept.page({ key, after: 8, limit: 9 })).toBeNull();
});

test('events that arrive late in a message do not replace later events of their job', () => {
  const kept = new KeptEvents(1000);
  kept.keep(key, [{ ...rows[0], seq: 8 } as StoredEvent]);
  kept.keep(key, rows);
  expect(kept.page({ key, after: 7, limit: 9 })).toMatchObject({ events: [{ seq: 8 }] });
  kept.keep(key, null);
  expect(kept.page({ key, after: 7, limit: 9 })).toBeNull();
});

test('events kept in memory expire, because another node may have removed the job', () => {
  const kept = new KeptEvents(1000);
  kept.keep(key, rows);
  vi.advanceTimersByTime(1001);
  expect(kept.page({ key, after: 6, limit: 1 })).toBeNull();
});
