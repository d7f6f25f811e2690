/** Text is always a value, never part of a query: whatever a client writes is stored, found and returned as it was. */
import type { EventBody } from '@vouchbox/protocol';
import { expect, test } from 'vitest';
import { listed } from './kept/listed.fixture.ts';
import { admission, finishOf, SPEC, startOf, TestStore } from './store.fixture.ts';

/** Texts that would break out of a query built from text: quotes, comments, further statements, wildcards. */
const BREAKS = [
  "'",
  '"',
  '`',
  ')',
  "')",
  '\\',
  "\\'",
  "''",
  '%',
  '_',
  '?',
  ':a',
  '@a',
  '$a',
  '[',
  '\u0000',
  '\u2019',
  'ʼ',
  '{',
];
const DEEDS = [
  '; drop table jobs; --',
  ' or 1=1 --',
  ' union select secret_sha256 from credentials --',
  '; attach database "/tmp/x" as x; --',
  '; pragma writable_schema = on; --',
  ' || (select tenant from jobs) || ',
  '/*',
  '; update jobs set tenant = "acme"; --',
  ' and randomblob(100000000) --',
  ', (select load_extension("x"))',
  '; vacuum into "/tmp/x"; --',
  ' collate nocase --',
  ' limit 0 --',
  ' returning * --',
  ' glob "*" --',
  '; delete from events; --',
  ' having 1 --',
  ' order by 1 --',
  ' escape "x" --',
  '\n--\n',
  '; reindex; --',
  ' is not null --',
];
const PAYLOADS = BREAKS.flatMap((breaks) => DEEDS.map((deed) => breaks + deed));

test(`${PAYLOADS.length} SQL injections in every text that a client sends are stored and read back as plain text`, {
  tags: ['IDEM-10', 'STORE-10'],
}, async () => {
  await using testStore = await TestStore.open();
  const { store } = testStore;
  const bystander = admission({ tenant: 'bystander' });
  await store.admit(bystander);
  const isInert = async (payload: string): Promise<void> => {
    const key = { tenant: payload, job_id: `job_${payload}` };
    const requested_spec = {
      ...SPEC,
      code: payload,
      stdin: payload,
      runtime: payload,
      files: [{ path: payload, content_base64: '' }],
      outputs: [payload],
    };
    const idempotency = { key: payload, spec_sha256: payload };
    await store.admit(admission({ ...key, requested_spec, idempotency }));
    await store.start(startOf(key));
    const said = { kind: 'stdout', timestamp: payload, data: { text: payload } } as EventBody;
    await store.append(key, [said]);
    await store.requestCancel({ ...key, principal: payload, at: payload });
    await store.finish(finishOf(key));
    expect(await store.job(key)).toMatchObject({ ...key, requested_spec, runtime: payload, status: 'succeeded' });
    expect((await store.findByIdempotencyKey({ tenant: payload, key: payload }))?.job.job_id).toBe(key.job_id);
    const page = await store.events({ key, after: 1, limit: 100 });
    expect(page?.events.map(({ data }) => data)).toContainEqual({ text: payload });
    expect(await listed(store, { tenant: payload })).toMatchObject([{ job_id: key.job_id, runtime: payload }]);
    const before = { created_at: payload, job_id: payload };
    expect((await listed(store, { tenant: 'bystander', before })).map(({ job_id }) => job_id)).toEqual(
      before.created_at > bystander.created_at ? [bystander.job_id] : [],
    );
    expect(await store.credential(payload)).toBeNull();
  };
  // The injections that break out in the same way run together, so that they share commits.
  for (const breaks of BREAKS) await Promise.all(DEEDS.map((deed) => isInert(breaks + deed)));
  expect(await store.job(bystander)).toMatchObject({ status: 'queued', tenant: 'bystander' });
  expect(await store.counts()).toMatchObject({ queued: 1, running: 0, outbox: PAYLOADS.length });
});
