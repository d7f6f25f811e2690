import type { JobEvent } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { checkWhole } from './check-record.ts';

const events = Array.from(
  { length: 100_000 },
  (_, index) => ({ job_id: 'job_1', seq: index + 1, kind: 'stdout', hash_version: 1, event_hash: null }) as JobEvent,
);
const record = { job_id: 'job_1', tenant: 'alpha', signed: null };

describe('the check of a record', () => {
  test('names the first bad event, and returns only the events around that one and at both ends', async () => {
    const receipt = { job_id: 'job_1' };
    const { exitCode, eventCount, firstBadSeq, rings } = await checkWhole(events, { ...record, receipt });
    expect([exitCode, eventCount, firstBadSeq]).toEqual([expect.any(Number), 100_000, 1]);
    expect(exitCode).not.toBe(0);
    expect(rings.map(({ seq }) => seq)).toEqual([1, 2, 3, 99_998, 99_999, 100_000]);
  });

  test('refuses a receipt that belongs to another job', async () => {
    const { checks } = await checkWhole(events, { ...record, receipt: { job_id: 'job_2' } });
    expect(checks).toEqual([{ name: 'receipt', isGood: false, detail: 'it is of another job' }]);
  });
});
