/** Ways to damage one event of a whole history, for every implementation that must notice the damage. */
import type { JobEvent } from '@vouchbox/protocol';

/** Each function changes the event at an index, in place, and returns the first sequence number that is then wrong. */
export const MUTATIONS: Readonly<Record<string, (all: JobEvent[], at: number) => number>> = {
  'another job': (all, at) => change(all, at, { job_id: 'job_2' }),
  'another number': (all, at) => change(all, at, { seq: at + 2 }),
  'another time': (all, at) => change(all, at, { timestamp: '2026-01-01T00:00:01.001Z' }),
  'another kind': (all, at) => change(all, at, { kind: 'other' }),
  'other data': (all, at) => change(all, at, { data: { text: 'forged' } }),
  'another predecessor': (all, at) => change(all, at, { prev_hash: 'ab'.repeat(32) }),
  'another digest': (all, at) => change(all, at, { event_hash: 'ab'.repeat(32) }),
  'an older version': (all, at) => change(all, at, { hash_version: 0 }),
  'an older version without hashes': (all, at) =>
    change(all, at, { hash_version: 0, prev_hash: null, event_hash: null }) + (at === 0 ? 1 : 0),
  'an unknown version': (all, at) => change(all, at, { hash_version: 2 }),
  deleted: (all, at) => {
    all.splice(at, 1);
    return at + 1;
  },
  duplicated: (all, at) => {
    all.splice(at, 0, all[at] as JobEvent);
    return at + 2;
  },
  'swapped with the next': (all, at) => {
    const first = Math.min(at, all.length - 2);
    all.splice(first, 2, all[first + 1] as JobEvent, all[first] as JobEvent);
    return first + 1;
  },
  inserted: (all, at) => {
    all.splice(at, 0, { ...(all[at] as JobEvent), data: { text: 'inserted' } });
    return at + 1;
  },
};

function change(all: JobEvent[], at: number, members: Partial<JobEvent>): number {
  all[at] = { ...(all[at] as JobEvent), ...members };
  return at + 1;
}
