import type { EventBody } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { chainEvents, eventHash, eventText, GENESIS_HASH } from './chain.ts';

const first = {
  job_id: 'job_01',
  seq: 1,
  timestamp: '2026-01-01T00:00:00.000Z',
  kind: 'queued',
  data: {},
  prev_hash: GENESIS_HASH,
};
const firstHash = '22274bc5214cac3b19d440e7c97c471eea16f5930c0c0b3692009c62657615cb';
const second = {
  job_id: 'job_01',
  seq: 2,
  timestamp: '2026-01-01T00:00:00.005Z',
  kind: 'stdout',
  data: { text: 'hé' },
  prev_hash: firstHash,
};
const secondHash = '0d29b02d3b8fa1a2387641dd108db7c84073b91852354c8e967f230f0b727d7a';

describe('the digest of an event', () => {
  test('equals the published vectors', { tags: ['Events-7b'] }, () => {
    expect(eventHash(first)).toBe(firstHash);
    expect(eventHash(second)).toBe(secondHash);
  });

  test('covers the domain, a line feed and the RFC 8785 form of the six linked members', {
    tags: ['Events-7a'],
  }, () => {
    expect(eventText(second)).toBe(
      `svc.event.v1\n{"data":{"text":"hé"},"job_id":"job_01","kind":"stdout","prev_hash":"${firstHash}","seq":2,"timestamp":"2026-01-01T00:00:00.005Z"}`,
    );
  });

  test.each([
    ['job_id', { job_id: 'job_02' }],
    ['seq', { seq: 3 }],
    ['timestamp', { timestamp: '2026-01-01T00:00:00.006Z' }],
    ['kind', { kind: 'stderr' }],
    ['data', { data: { text: 'he' } }],
    ['prev_hash', { prev_hash: GENESIS_HASH }],
  ])('changes if %s of the event changes', { tags: ['Events-7a'] }, (_member, change) => {
    expect(eventHash({ ...second, ...change })).not.toBe(secondHash);
  });

  test('cannot be forged by data that looks like other members of the event (CHAIN-03)', { tags: ['CHAIN-03'] }, () => {
    const inside = { ...second, data: { text: 'a","job_id":"job_02' } };
    expect(eventHash(inside)).not.toBe(eventHash({ ...second, data: { text: 'a' }, job_id: 'job_02' }));
    expect(eventHash({ ...second, job_id: 'job_1', seq: 23 })).not.toBe(
      eventHash({ ...second, job_id: 'job_12', seq: 3 }),
    );
  });
});

test.each([
  { kind: '\ud800' },
  { timestamp: '\ud800' },
  { job_id: '\ud800' },
  { prev_hash: '\ud800' },
  { seq: Number.NaN },
])('an event with %j has no canonical text, and is refused', (member) => {
  expect(() => eventText({ ...first, ...member })).toThrow(Error);
});

describe('chaining events', () => {
  const bodies: EventBody[] = [
    { kind: 'stdout', timestamp: '2026-01-01T00:00:00.005Z', data: { text: 'hé' } },
    { kind: 'stderr', timestamp: '2026-01-01T00:00:00.006Z', data: { text: 'x', partial: true } },
  ];

  test('numbers the events after the last one, and links each to the one before it', () => {
    const [a, b] = chainEvents({ job_id: 'job_01', seq: 1, head: firstHash }, bodies);
    expect(a).toEqual({ ...second, hash_version: 1, event_hash: secondHash });
    expect(b).toMatchObject({ seq: 3, prev_hash: secondHash, hash_version: 1, kind: 'stderr' });
  });

  test('events added in two batches give the same chain as events added in one', () => {
    const tail = { job_id: 'job_01', seq: 0, head: GENESIS_HASH };
    const whole = chainEvents(tail, bodies);
    const [a] = chainEvents(tail, bodies.slice(0, 1));
    const [b] = chainEvents({ job_id: 'job_01', seq: 1, head: a?.event_hash as string }, bodies.slice(1));
    expect([a, b]).toEqual(whole);
  });

  test('refuses text that has no canonical form', () => {
    const body: EventBody = { kind: 'stdout', timestamp: '2026-01-01T00:00:00.005Z', data: { text: '\ud800' } };
    expect(() => chainEvents({ job_id: 'job_01', seq: 0, head: GENESIS_HASH }, [body])).toThrow(/surrogate/);
  });
});
