import { setImmediate } from 'node:timers/promises';
import {
  attest,
  CANARY_TENANT,
  chainEvents,
  GENESIS_HASH,
  outputEvidence,
  sealReceipt,
  type UnsealedReceipt,
} from '@vouchbox/evidence';
import { type EventBody, LIMIT_CEILINGS } from '@vouchbox/protocol';
import { expect, test, vi } from 'vitest';
import { readyPosture } from '../../../test/scripted-provider.ts';
import type { AdmitInput } from '../../store/records/inputs.ts';
import type { ExecutionRecord } from '../../store/records/rows.ts';
import { createLog } from '../../telemetry/log/log.ts';
import { Canaries } from './canaries.ts';

const DIGEST = 'd'.repeat(64);
const PACK = { name: 'system', version: '1', languages: ['python' as const], digest: DIGEST };
const EXECUTION = { ...readyPosture, runtime_pack: PACK } as unknown as ExecutionRecord;

const REFUSED = [
  ...['mount', 'ptrace', 'egress_ipv4', 'egress_ipv6', 'egress_metadata'].map(
    (tried) => `${tried}: Operation not permitted`,
  ),
  'processes: Resource temporarily unavailable',
  'memory: Cannot allocate memory',
];
const HOLE = [...REFUSED.slice(1), 'mount: allowed'];

/** The envelope that the signer makes for a canary that wrote these lines. */
function envelopeOf(job_id: string, lines: readonly string[], terminal_reason: string): Uint8Array {
  const timestamp = new Date().toISOString();
  const bodies = lines.map((text): EventBody => ({ kind: 'stdout', timestamp, data: { text } }));
  const events = chainEvents({ job_id, seq: 0, head: GENESIS_HASH }, bodies);
  const end = {
    status: 'succeeded',
    exit_code: 0,
    signal: null,
    terminal_reason,
    duration_ms: 1,
    created_at: timestamp,
    started_at: timestamp,
    finished_at: timestamp,
  };
  const lifecycle = { tenant: CANARY_TENANT, job_id, ...end };
  const head = events.at(-1)?.event_hash ?? GENESIS_HASH;
  const event_chain = { hash_version: 1, genesis: GENESIS_HASH, head, count: events.length, complete: true };
  const unsealed = { schema_version: 4, ...lifecycle, event_chain, truncated: false, output: outputEvidence(events) };
  const { receipt, receipt_sha256 } = sealReceipt(unsealed as unknown as UnsealedReceipt);
  const job = { ...lifecycle, truncated: false, receipt_sha256 } as unknown as Parameters<typeof attest>[0]['job'];
  const kept = { salt: null, tenant_number: null, also: JSON.stringify({ tried: lines }) };
  const made = attest({ job, receipt, events, kept }, { key_id: 'k', sign: () => new Uint8Array(64) });
  if (made.kind !== 'attested') throw new Error(JSON.stringify(made));
  return made.attestation.envelope;
}

class Sent {
  readonly inputs: AdmitInput[] = [];
  mayBegin = true;
  lines: readonly string[] = REFUSED;
  reason = 'exited';
  asked = 0;
  readonly canaries: Canaries;

  constructor(times: { everyMilliseconds?: number; usedMilliseconds?: number } = {}) {
    this.canaries = new Canaries({
      store: {
        attestation: async ({ key }) =>
          ({ envelope: envelopeOf(key.job_id, this.lines, this.reason) }) as unknown as never,
      },
      provider: { runtime_packs: [PACK] },
      cells: { prepare: () => Promise.reject(new Error('no cell is made here')) },
      ceilings: LIMIT_CEILINGS,
      isNumbered: true,
      log: createLog('silent'),
      ...times,
    });
    this.canaries.start(async (input) => {
      this.asked++;
      if (this.mayBegin) this.inputs.push(input);
      return this.mayBegin;
    });
  }
}

test('a canary runs when a class and a pack are first used, and not before', async () => {
  const sent = new Sent();
  await using _ = sent.canaries;
  await setImmediate();
  expect(sent.asked).toBe(0);
  sent.canaries.used(EXECUTION);
  await vi.waitFor(() => expect(sent.canaries.newestOf(EXECUTION)).not.toBeNull());
  sent.canaries.used(EXECUTION);
  await setImmediate();
  expect(sent.inputs).toMatchObject([
    { tenant: CANARY_TENANT, requested_spec: { runtime: 'system' }, idempotency: null },
  ]);
  const [input] = sent.inputs;
  expect(sent.canaries.newestOf(EXECUTION)).toMatchObject({ jobId: input?.job_id });
});

test('a canary runs repeatedly while its pack is in use, and stops when the use ends', async () => {
  const sent = new Sent({ everyMilliseconds: 5, usedMilliseconds: 200 });
  await using _ = sent.canaries;
  sent.canaries.used(EXECUTION);
  await vi.waitFor(() => expect(sent.inputs.length).toBeGreaterThanOrEqual(3));
  let before = -1;
  await vi.waitFor(
    () => {
      const count = sent.asked;
      const isStill = count === before;
      before = count;
      expect(isStill).toBe(true);
    },
    { interval: 100 },
  );
});

test('a canary that may not start yet is requested again, and does not count as run until it has run', async () => {
  const sent = new Sent();
  await using _ = sent.canaries;
  sent.mayBegin = false;
  sent.canaries.used(EXECUTION);
  await vi.waitFor(() => expect(sent.asked).toBe(1));
  expect(sent.canaries.newestOf(EXECUTION)).toBeNull();
  sent.mayBegin = true;
  await vi.waitFor(() => expect(sent.inputs).toHaveLength(1), { timeout: 5000 });
});

test('a protection that a canary finds broken is reported until a later canary finds it intact', async () => {
  const sent = new Sent({ everyMilliseconds: 5 });
  await using _ = sent.canaries;
  sent.lines = HOLE;
  sent.canaries.used(EXECUTION);
  const problem = 'it was not refused: mount (allowed)';
  await vi.waitFor(() => expect(sent.canaries.facts()).toMatchObject([{ problem, runtime_pack: 'system' }]));
  expect(sent.canaries.newestOf(EXECUTION)).not.toBeNull();
  sent.lines = REFUSED;
  await vi.waitFor(() => expect(sent.canaries.facts()).toMatchObject([{ problem: null }]));
});

test('a canary that the service ended itself does not count', async () => {
  const sent = new Sent({ everyMilliseconds: 5 });
  await using _ = sent.canaries;
  sent.reason = 'server_shutdown';
  sent.canaries.used(EXECUTION);
  await vi.waitFor(() => expect(sent.inputs.length).toBeGreaterThanOrEqual(2));
  expect(sent.canaries.facts()).toEqual([]);
});

test('each pack and each class has its own canary, and cells without isolation have none', async () => {
  const sent = new Sent();
  await using _ = sent.canaries;
  sent.canaries.used(EXECUTION);
  await vi.waitFor(() => expect(sent.canaries.newestOf(EXECUTION)).not.toBeNull());
  const gvisor = { ...EXECUTION, isolation_class: 'gvisor-application-kernel' as const };
  expect(sent.canaries.newestOf(gvisor)).toBeNull();
  expect(sent.canaries.newestOf({ ...EXECUTION, runtime_pack: { ...PACK, digest: 'e'.repeat(64) } })).toBeNull();
  sent.canaries.used({ ...EXECUTION, isolation_class: 'none' });
  await setImmediate();
  expect(sent.inputs).toHaveLength(1);
});
