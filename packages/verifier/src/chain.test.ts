import { canonicalJson, sealReceipt } from '@vouchbox/evidence';
import type { JobEvent } from '@vouchbox/protocol';
import { afterAll, describe, expect, test } from 'vitest';
import { attestedJob, eventLines, line, Scratch } from '../test/attested-job.ts';
import { MUTATIONS } from '../test/spoiled-history.ts';
import { serviceVerify } from './service-verify.ts';

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

const job = attestedJob({
  bodies: Array.from({ length: 20 }, (_, number) => line(number % 3 === 0 ? 'stderr' : 'stdout', `line ${number}`)),
});
const { events } = job;
const receipt = scratch.write('receipt.json', canonicalJson(job.receipt));
let written = 0;

function file(content: string | Uint8Array): string {
  return scratch.write(`history-${++written}`, content);
}

function page(part: readonly JobEvent[], next_cursor: unknown = part.at(-1)?.seq): string {
  return JSON.stringify({ events: part, next_cursor });
}

async function chain(...words: readonly string[]) {
  const { exitCode, stdout } = await serviceVerify(['chain', '--json', ...words]);
  return { exitCode, ...(JSON.parse(stdout) as { facts: Record<string, unknown>; notice: string; checks: unknown[] }) };
}

describe('service-verify chain (Spec § Events 8)', { tags: ['Events-8'] }, () => {
  test('recomputes an export with one event per line', async () => {
    expect(await chain(file(eventLines(events)))).toMatchObject({ exitCode: 0, facts: { last_kind: 'finished' } });
    expect(await chain(file(eventLines(events).trimEnd()))).toMatchObject({ exitCode: 0 });
  });

  test('recomputes replay pages from several files, however they are formatted', async () => {
    const files = [page(events.slice(0, 7)), page(events.slice(7, 8)), page(events.slice(8), null)].map(file);
    expect(await chain(...files, '--receipt', receipt)).toMatchObject({ exitCode: 0 });
    const pretty = file(JSON.stringify({ events, next_cursor: null }, null, 2));
    expect(await chain(pretty)).toMatchObject({ exitCode: 0 });
  });

  test('accepts an empty last page, and refuses pages in the wrong order', async () => {
    const files = [page(events, events.length), page([], events.length)].map(file);
    expect(await chain(...files)).toMatchObject({ exitCode: 0 });
    const swapped = [page(events.slice(7)), page(events.slice(0, 7))].map(file);
    expect(await chain(...swapped)).toMatchObject({ exitCode: 6, facts: { first_bad_seq: 1, fault: 'sequence' } });
  });

  test('says that only a receipt can show whether events are missing at the end', async () => {
    const cut = file(eventLines(events.slice(0, 9)));
    expect(await chain(cut)).toMatchObject({ exitCode: 0, notice: expect.stringContaining('does not reach the end') });
    expect(await chain(file(page(events)))).toMatchObject({ notice: expect.stringContaining('does not reach') });
    expect((await chain(file(page(events, null)))).notice).not.toContain('does not reach');
    expect(await chain(cut, '--receipt', receipt)).toMatchObject({
      exitCode: 6,
      facts: { first_bad_seq: 10, fault: 'missing' },
    });
  });

  test('takes the receipt from a job detail', async () => {
    const detail = file(JSON.stringify({ job_id: job.job_id, receipt: job.receipt }));
    expect(await chain(file(eventLines(events)), '--receipt', detail)).toMatchObject({ exitCode: 0 });
    const queued = file(JSON.stringify({ job_id: job.job_id }));
    expect(await serviceVerify(['chain', file(eventLines(events)), '--receipt', queued])).toMatchObject({
      exitCode: 1,
    });
  });

  test('counts events without hashes, and refuses a history that has only such events', async () => {
    const legacy = events.map((event) => ({ ...event, hash_version: 0, prev_hash: null, event_hash: null }));
    expect(await chain(file(eventLines(legacy)))).toMatchObject({
      exitCode: 6,
      checks: [{}, { check: 'chain', detail: expect.stringContaining('nothing to verify') }],
    });
    expect(await chain(file(eventLines(legacy)), '--receipt', receipt)).toMatchObject({ facts: { fault: 'missing' } });
  });
});

describe('a damaged history', () => {
  test.each(Object.keys(MUTATIONS))('is reported with its first bad event: %s, at any position', async (name) => {
    for (let at = 0; at < events.length; at++) {
      const all = [...events];
      const expected = MUTATIONS[name]?.(all, at);
      const found = await chain(file(eventLines(all)), '--receipt', receipt);
      expect({ at, exitCode: found.exitCode, seq: found.facts['first_bad_seq'] }).toEqual({
        at,
        exitCode: 6,
        seq: expected,
      });
    }
  });
});

describe('a receipt that does not belong to the history', () => {
  const history = file(eventLines(events));
  const reseal = (changes: Parameters<typeof attestedJob>[0]) =>
    file(canonicalJson(attestedJob({ bodies: [], ...changes }).receipt));

  test('is refused if it does not match its own digest', async () => {
    const changed = file(canonicalJson({ ...job.receipt, duration_ms: 13 }));
    expect(await chain(history, '--receipt', changed)).toMatchObject({
      exitCode: 6,
      checks: [{}, { check: 'receipt', good: false }, {}],
    });
  });

  test('is refused for another job', async () => {
    expect(await chain(history, '--receipt', reseal({ job_id: 'job_2' }))).toMatchObject({
      facts: { first_bad_seq: 1, fault: 'job' },
    });
  });

  test('is refused if it belongs to another history of the same job', async () => {
    expect(await chain(history, '--receipt', reseal({}))).toMatchObject({
      facts: { first_bad_seq: 4, fault: 'surplus' },
    });
  });

  test.each([
    ['output', 'output', (value: object) => ({ ...value, stdout_bytes: 1 })],
    ['chain_summary', 'event_chain', (value: object) => ({ ...value, complete: false })],
    ['artifacts', 'output_artifacts', () => [{ path: 'output/x', size_bytes: 1, sha256: 'ab'.repeat(32) }]],
    ['finished', 'exit_code', () => 7],
  ])('is refused by the check %s if its %s was changed', async (check, member, forge) => {
    const forged = forge(job.receipt[member as keyof typeof job.receipt] as object);
    const path = file(sealReceipt({ ...job.receipt, [member]: forged }).json);
    const { exitCode, checks } = await chain(history, '--receipt', path);
    expect({ exitCode, checks }).toMatchObject({
      exitCode: 6,
      checks: expect.arrayContaining([{ check, good: false, detail: expect.anything() }]),
    });
  });

  test('the receipt of a job that a restart ended states only the outcome, and is accepted (Spec § Receipt)', {
    tags: ['Receipt-24'],
  }, async () => {
    const { schema_version, job_id, tenant, status, exit_code, signal, terminal_reason, created_at, started_at } =
      job.receipt;
    const { finished_at, duration_ms, event_chain } = job.receipt;
    const outcome = { status, exit_code, signal, terminal_reason, created_at, started_at, finished_at, duration_ms };
    const minimal = sealReceipt({ schema_version, job_id, tenant, ...outcome, event_chain });
    expect(await chain(history, '--receipt', file(minimal.json))).toMatchObject({ exitCode: 0 });
  });
});

describe('a file that is not a history', () => {
  test.each([
    ['nothing', ''],
    ['no JSON', 'hello'],
    ['an array', '[]'],
    ['an object', '{}'],
    ['a page without events', '{"events":null,"next_cursor":null}'],
    ['an empty page', '{"events":[],"next_cursor":null}'],
    ['a cut-off page', page(events).slice(0, -10)],
    ['a page that misplaces its cursor', page(events, 3)],
    ['an event without data', '{"job_id":"j","seq":1,"timestamp":"t","kind":"k"}\n'],
    ['output without a text', eventLines([{ ...(events[2] as JobEvent), data: null }])],
    ['a cut-off line', eventLines(events).slice(0, -20)],
    ['an empty line', `${eventLines(events.slice(0, 2))}\n${eventLines(events.slice(2))}`],
    ['a member named twice', eventLines(events).replace('"seq":1', '"seq":1,"seq":1')],
  ])('ends with exit code 6: %s', async (_what, content) => {
    expect((await serviceVerify(['chain', file(content)])).exitCode).toBe(6);
  });

  test('a missing file is wrong usage', async () => {
    expect((await serviceVerify(['chain', '/nowhere'])).exitCode).toBe(1);
  });
});
