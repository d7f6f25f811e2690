/** Spec § Events 7 and 8: the client recomputes a real job's record, and notices every change to the record. */
import { createHash } from 'node:crypto';
import type { JobEvent, Receipt } from '@vouchbox/client';
import { canonicalJson as evidenceJson, receiptText } from '@vouchbox/evidence';
import fc from 'fast-check';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { canonicalJson } from '../../packages/client/src/canonical-json.ts';
import { verifyRecord } from '../../packages/client/src/verify-record.ts';
import { useRig } from '../rig/rig.ts';

type Changed = { -readonly [Name in keyof JobEvent]: JobEvent[Name] };
type Change = (events: Changed[], receipt: Receipt) => void;

const rig = useRig({ provider: 'subprocess' });
const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex');
const refuse = (check: string, _message: string, seq: number | null = null): never => {
  throw Object.assign(new Error(check), { check, seq });
};
let record: { readonly job_id: string; readonly events: JobEvent[]; readonly receipt: Receipt };

beforeAll(async () => {
  const { client } = rig().alpha;
  const code = 'echo one; echo "é" >&2; printf end; echo 1 > output/a';
  const { job_id, receipt } = await client.run(code, { language: 'bash', outputs: ['output/a', 'output/b'] });
  record = { job_id, receipt, events: await Array.fromAsync(client.events(job_id)) };
});

/** Makes this change to the record, computes the receipt's digest again as a forger would, and checks the record. */
function changedBy(change: Change) {
  const { job_id, events, receipt } = structuredClone(record);
  change(events, receipt);
  return verifyRecord({ job_id, events, receipt: { ...receipt, receipt_sha256: sha256(receiptText(receipt)) } }, tools);
}
const tools = { sha256, refuse };
const OLDER = { hash_version: 0, prev_hash: null, event_hash: null };

describe('the record of a job', () => {
  test('an unchanged record passes every check', async () => {
    const kinds = new Set(record.events.map(({ kind }) => String(kind)));
    for (const kind of ['stdout', 'stderr', 'artifact', 'violation', 'finished']) expect(kinds).toContain(kind);
    expect(await verifyRecord(record, tools)).toMatchObject({
      chain: { head: record.events.at(-1)?.event_hash, count: record.events.length, unverifiable: 0 },
      receipt_sha256: record.receipt.receipt_sha256,
    });
    await expect(changedBy(() => {})).resolves.toBeDefined();
  });

  test('passes every check when the client reads it from the service', async () => {
    expect((await rig().alpha.client.verify(record.job_id)).chain.count).toBe(record.events.length);
  });

  test.each<[what: string, check: string, seq: number | null, change: Change]>([
    ['an event that was dropped', 'sequence', 3, (events) => void events.splice(2, 1)],
    ['an event that was repeated', 'sequence', 3, (events) => void events.splice(2, 0, events[1] as Changed)],
    ['an event of another job', 'job', 2, ([, event]) => Object.assign(event as object, { job_id: 'job_2' })],
    ['an event with other data', 'digest', 3, ([, , event]) => Object.assign(event as object, { data: { text: 'x' } })],
    ['an event at another time', 'digest', 1, ([event]) => Object.assign(event as object, { timestamp: '2026' })],
    ['an event after another', 'link', 2, ([, event]) => Object.assign(event as object, { prev_hash: 'f'.repeat(64) })],
    ['an event without a digest', 'digest', 2, ([, event]) => Object.assign(event as object, { event_hash: null })],
    ['an event made to look older', 'hash_version', 2, ([, event]) => Object.assign(event as object, OLDER)],
    [
      'an event of a later version',
      'hash_version',
      2,
      ([, event]) => Object.assign(event as object, { hash_version: 2 }),
    ],
    ['text without a canonical form', 'digest', 3, ([, , event]) => Object.assign(event as object, { data: '\ud800' })],
    ['an end that was cut off', 'chain_summary', null, (events) => void events.pop()],
    ['another head', 'chain_summary', null, (_, { event_chain }) => Object.assign(event_chain, { head: '0' })],
    ['another outcome', 'finished', null, (_, receipt) => Object.assign(receipt, { exit_code: 7 })],
    ['another output', 'output', null, (_, { output }) => Object.assign(output as object, { stdout_bytes: 99 })],
    ['another file', 'artifacts', null, (_, receipt) => Object.assign(receipt, { output_artifacts: [] })],
    ['another job', 'receipt', null, (_, receipt) => Object.assign(receipt, { job_id: 'job_2' })],
  ])('a record with %s fails the check: %s', async (_what, check, seq, change) => {
    await expect(changedBy(change)).rejects.toMatchObject({ check, seq });
  });

  test('a record with a changed receipt fails the receipt check, and so does the record of a running job', async () => {
    const receipt = { ...record.receipt, duration_ms: 1 };
    await expect(verifyRecord({ ...record, receipt }, tools)).rejects.toMatchObject({ check: 'receipt' });
    const { client } = rig().alpha;
    const { job_id } = await client.submit('sleep 300', { language: 'bash', limits: { wall_seconds: 300 } });
    await expect(client.verify(job_id)).rejects.toMatchObject({ name: 'EvidenceFailure', check: 'receipt', seq: null });
    await client.cancel(job_id);
    await client.waitForResult(job_id);
  });
});

test('the client serializes every JSON value as the service does', () => {
  const values = fc.jsonValue({ stringUnit: 'binary' });
  fc.assert(
    fc.property(values, (value) => {
      const parsed: unknown = JSON.parse(JSON.stringify(value));
      expect(canonicalJson(parsed)).toBe(evidenceJson(parsed));
    }),
    { seed: inject('propertySeed') },
  );
  expect(canonicalJson(JSON.parse('{"10":1,"9":{"b":[],"a":null},"é":-0,"😀":1e21}'))).toBe(
    evidenceJson({ 10: 1, 9: { a: null, b: [] }, é: 0, '😀': 1e21 }),
  );
});
