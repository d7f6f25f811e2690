import { expect, test } from 'vitest';
import { nextPlace } from './next-place.ts';

const time = Date.UTC(2026, 0, 1);

test('ids made within one millisecond ascend', () => {
  const ids = Array.from({ length: 1000 }, () => nextPlace(time).job_id);
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
});

test('an id holds the time of acceptance and random bits, as a UUIDv7 does', () => {
  const { job_id, created_at } = nextPlace(time + 7);
  expect(created_at).toBe('2026-01-01T00:00:00.007Z');
  expect(job_id).toMatch(/^job_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(Number.parseInt(job_id.slice(4, 17).replace('-', ''), 16)).toBe(time + 7);
  expect(nextPlace(time + 7).job_id.slice(-17)).not.toBe(job_id.slice(-17));
});

test('an id made in a later millisecond is higher, and ids made after the clock was set back are still new', () => {
  const before = nextPlace(time + 10).job_id;
  expect(nextPlace(time + 11).job_id > before).toBe(true);
  expect(nextPlace(time).job_id).not.toBe(before);
});

test('ids ascend within each millisecond, however many ids were made in the millisecond before', () => {
  for (let count = 0; count < 5000; count += 1) nextPlace(time + 20);
  const ids = Array.from({ length: 1000 }, () => nextPlace(time + 21).job_id);
  expect(ids.toSorted()).toEqual(ids);
});
