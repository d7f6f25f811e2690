/** What an examination tells a person who looks for a fault in an export. */
import { EXPORT_FILES, EXPORT_MANIFEST, exportManifest } from '@vouchbox/evidence';
import { describe, expect, test } from 'vitest';
import { TestLog, testCosignature, testNoteKey } from '../../../test/rig/test-log.ts';
import { attestedJob, eventLines, exportOf, signingKey } from '../test/attested-job.ts';
import { canVerifySignatures, type Examination, examineExport } from './examine-export.ts';

const job = attestedJob({ stdin: 'in', inputs: { 'input/a.txt': 'a' }, outputs: { 'output/b.txt': 'b' } });
const pinned = { publicKeys: [job.key.publicKeyPem], canVerify: true };
const bytes = (text: string) => new TextEncoder().encode(text);

/** The files of the export, some with other content. The manifest is not signed, so it is made anew from them. */
function forged(changes: Readonly<Record<string, Uint8Array>>): Map<string, Uint8Array<ArrayBuffer>> {
  const files = new Map([...job.files, ...Object.entries(changes)]);
  return new Map([...files, [EXPORT_MANIFEST, exportManifest(job, files)]]) as Map<string, Uint8Array<ArrayBuffer>>;
}

function whole(): Map<string, Uint8Array<ArrayBuffer>> {
  return exportOf(job) as Map<string, Uint8Array<ArrayBuffer>>;
}

/** The checks that failed, by name. */
function failures({ files, attestation, record, program }: Examination): string[] {
  const all = [...files, ...attestation, ...record, ...program];
  return all.filter(({ state }) => state === 'failed').map(({ name }) => name);
}

/** The content with one byte in the middle changed. */
function tampered(content: Uint8Array | undefined): Uint8Array<ArrayBuffer> {
  const copy = Uint8Array.from(content ?? []);
  const at = Math.floor(copy.length / 2);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

describe('the transparency log in an examination', () => {
  const log = new TestLog();
  const index = log.appendSigned(job.attestation.envelope, job.key.publicKeyPem);
  const witness = testNoteKey('witness.example', 'cosignature');
  const cosignatures = [testCosignature(witness, log.headText(), 1_800_000_000)];
  const logged = (proof: string) => forged({ 'log.tlog-proof': bytes(proof) });
  const keys = { log: log.key.noteKey, witnesses: [witness.noteKey] };

  test('is judged with and without a proof, and with and without the keys of the log', async () => {
    const wordOf = async (files: ReturnType<typeof whole>, more: object = {}) =>
      (await examineExport(files, { ...pinned, ...more })).log.word;
    expect(await wordOf(whole(), { log: keys })).toBe('NOT LOGGED: no proof of it is here');
    expect(await wordOf(logged(log.proof(index)))).toMatch(/^NOT LOGGED: its proof was not checked/);
    expect(await wordOf(logged(log.proof(index)), { log: keys })).toMatch(/^UNWITNESSED/);
    expect(await wordOf(logged(log.proof(index, { cosignatures })), { log: keys })).toMatch(/^WITNESSED by witness/);
  });

  test('is the reason to refuse the export if the proof is about another statement', async () => {
    const examination = await examineExport(logged(log.proof(0)), { ...pinned, log: keys });
    expect(examination).toMatchObject({ verdict: 'refused', log: { word: 'NOT LOGGED' } });
    expect(examination.log.checks).toMatchObject([{ name: 'log_inclusion', state: 'failed' }]);
  });
});

describe('an unchanged export', () => {
  test('is good under the pinned key, and every check passed', async () => {
    const examination = await examineExport(whole(), { ...pinned, tenant: job.tenant, job: job.job_id });
    expect(failures(examination)).toEqual([]);
    expect(examination).toMatchObject({ verdict: 'good', isSigned: true, brokenAt: null, key_id: job.key.key_id });
    expect(examination.events).toHaveLength(job.events.length);
    expect(examination.attestation).toHaveLength(11);
    expect(examination.added).toEqual({ salt: '5a'.repeat(16), tenant_job_number: 7 });
  });

  test('does not show who signed it if no key is pinned', async () => {
    const examination = await examineExport(whole(), { publicKeys: [], canVerify: true });
    expect(examination).toMatchObject({ verdict: 'whole', isSigned: false });
    expect(failures(examination)).toEqual([]);
  });

  test('is called unchecked if the platform cannot check signatures', async () => {
    const examination = await examineExport(whole(), { ...pinned, canVerify: false });
    expect(examination).toMatchObject({ verdict: 'unchecked', isSigned: false });
    expect(examination.attestation.every(({ state }) => state === 'not_tried')).toBe(true);
    expect(examination.record.some(({ name, state }) => name === 'chain' && state === 'passed')).toBe(true);
  });

  test('is refused under another key, and the report names the key that signed it', async () => {
    const examination = await examineExport(whole(), { publicKeys: [signingKey().publicKeyPem], canVerify: true });
    expect(examination).toMatchObject({ verdict: 'refused', isSigned: false });
    expect(failures(examination)).toEqual(['signature']);
    const signature = examination.attestation.find(({ name }) => name === 'signature');
    expect(signature?.detail).toContain(`the key in the export, ${job.key.key_id}, signed it`);
  });

  test.each([
    ['tenant', { tenant: 'other' }],
    ['subject_name', { job: 'job_other' }],
  ])('is refused by the check %s if the caller expected another value', async (name, expected) => {
    const examination = await examineExport(whole(), { ...pinned, ...expected });
    expect(examination.verdict).toBe('refused');
    expect(failures(examination)).toEqual([name]);
  });
});

describe('a changed byte in an export', () => {
  test.each([...exportOf(job).keys()].filter((path) => path !== EXPORT_MANIFEST))(
    'is found in %s, and the report states both digests',
    async (path) => {
      const files = whole().set(path, tampered(job.files.get(path)));
      const examination = await examineExport(files, pinned);
      expect(examination.verdict).toBe('refused');
      const file = examination.files.find(({ name }) => name === path);
      expect(file?.detail).toMatch(/its digest is [0-9a-f]{64}, but [0-9a-f]{64} is listed/);
    },
  );

  test.each([
    [EXPORT_FILES.envelope, ['signature', 'envelope']],
    [EXPORT_FILES.result, ['subject_digest']],
    [EXPORT_FILES.publicKey, ['public_key_file']],
    ['code', ['code']],
    ['stdin', ['stdin']],
    ['policy.json', ['policy.json']],
    ['input/a.txt', ['input/a.txt']],
    ['output/b.txt', ['output/b.txt']],
  ])('is found in %s even if the manifest was changed as well', async (path, names) => {
    const examination = await examineExport(forged({ [path]: tampered(job.files.get(path)) }), pinned);
    expect(examination.verdict).toBe('refused');
    expect(names).toContain(failures(examination)[0]);
  });

  test('is found in an event, and the report names the number of the event', async () => {
    const text = eventLines(job.events).replace('"hello"', '"hellO"');
    const examination = await examineExport(forged({ [EXPORT_FILES.events]: bytes(text) }), pinned);
    expect(examination).toMatchObject({ verdict: 'refused', brokenAt: 2, isSigned: true });
    expect(examination.record.find(({ name }) => name === 'chain')?.detail).toMatch(/^event 3: its event_hash/);
  });
});

describe('a history with changed events', () => {
  test.each([
    ['cut off', job.events.slice(0, -1), job.events.length - 1],
    ['taken out', job.events.toSpliced(2, 1), 2],
    ['swapped', [job.events[0], job.events[2], job.events[1], ...job.events.slice(3)], 1],
    ['added', [...job.events, job.events[0]], job.events.length],
  ])(
    'with events %s is refused, and the report names the first break of the chain',
    async (_what, events, brokenAt) => {
      const text = eventLines(events as typeof job.events);
      const examination = await examineExport(forged({ [EXPORT_FILES.events]: bytes(text) }), pinned);
      expect(examination).toMatchObject({ verdict: 'refused', brokenAt });
    },
  );
});

describe('an envelope with its result, without an export', () => {
  const two = () =>
    new Map(
      [EXPORT_FILES.envelope, EXPORT_FILES.result].map((name) => [name, whole().get(name) as Uint8Array<ArrayBuffer>]),
    );

  test('is good under the pinned key, and shows the posture of the signed statement', async () => {
    const examination = await examineExport(two(), pinned);
    expect(examination).toMatchObject({ verdict: 'good', files: [], record: [], isSigned: true });
    expect(examination.receipt?.['isolation_class']).toBe('gvisor-application-kernel');
  });

  test('is called whole instead of good if no key is pinned, because its signature is not checked', async () => {
    const examination = await examineExport(two(), { publicKeys: [], canVerify: true });
    expect(examination).toMatchObject({ verdict: 'whole', isSigned: false });
    expect(examination.attestation.every(({ state }) => state === 'not_tried')).toBe(true);
  });

  test('is refused if the result or the payload was changed', async () => {
    const other = two().set(EXPORT_FILES.result, tampered(two().get(EXPORT_FILES.result)));
    expect(failures(await examineExport(other, pinned))).toEqual(['subject_digest']);
    const payload = two().set(EXPORT_FILES.envelope, tampered(two().get(EXPORT_FILES.envelope)));
    expect((await examineExport(payload, pinned)).verdict).toBe('refused');
  });
});

test.each([
  ['an empty set of files', new Map()],
  ['a malformed manifest', new Map([[EXPORT_MANIFEST, bytes('{')]])],
  ['an export with only a manifest', new Map([[EXPORT_MANIFEST, exportOf(job).get(EXPORT_MANIFEST)]])],
])('%s is refused without an exception', async (_name, files) => {
  const examination = await examineExport(files as Map<string, Uint8Array<ArrayBuffer>>, pinned);
  expect(examination).toMatchObject({ verdict: 'refused', isSigned: false });
});

test('this platform can check signatures', async () => {
  expect(await canVerifySignatures()).toBe(true);
});
