import { describe, expect, test } from 'vitest';
import { decodeCursor, encodeCursor } from './cursor.ts';

const job = { created_at: '2026-01-01T00:00:00.000Z', job_id: 'job_01a1fce9-3897-715b-9921-7a9913871a76' };

describe('a list cursor', () => {
  test('stays the same for the same job and tenant, in every process', () => {
    const cursor = encodeCursor('acme', job);
    expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(encodeCursor('acme', job)).toBe(cursor);
    expect(decodeCursor('acme', cursor)).toEqual(job);
  });

  test('a cursor of another tenant is refused', () => {
    expect(() => decodeCursor('umbrella', encodeCursor('acme', job))).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    );
  });

  test('a cursor with any single character changed, added or removed is refused', { tags: ['AUTH-08'] }, () => {
    const cursor = encodeCursor('acme', job);
    for (let index = 0; index < cursor.length; index++) {
      const other = cursor[index] === 'A' ? 'B' : 'A';
      for (const bad of [
        cursor.slice(0, index) + other + cursor.slice(index + 1),
        cursor.slice(0, index) + cursor.slice(index + 1),
        `${cursor.slice(0, index)}${other}${cursor.slice(index)}`,
      ]) {
        expect(() => decodeCursor('acme', bad)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
      }
    }
  });

  test.each(['', 'x', '!!!!', `${encodeCursor('acme', job)}=`, ` ${encodeCursor('acme', job)}`, 'A'.repeat(10_000)])(
    'a cursor that was never issued is refused: %.60j',
    (cursor) => {
      expect(() => decodeCursor('acme', cursor)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    },
  );
});
