/** Spec § GET /v1/jobs: the tenant's jobs, newest first, in stable pages. */
import { beforeAll, describe, expect, test } from 'vitest';
import { useRig } from '../rig/rig.ts';

const rig = useRig();
/** The jobs, oldest first: five in alternating languages that succeeded, then one that failed. */
const ids: string[] = [];

beforeAll(async () => {
  for (const [language, code] of [
    ['bash', 'true'],
    ['python', 'pass'],
    ['bash', 'true'],
    ['node', ''],
    ['bash', 'true'],
    ['bash', 'false'],
  ] as const) {
    const { job_id } = await rig().run({ language, code: code || '0' });
    ids.push(job_id);
  }
  await rig().run({ language: 'bash', code: 'true' }, rig().beta);
});

const list = (query = '', key = rig().alpha.key) => rig().request(`/v1/jobs${query}`, { key });
const idsOf = async (query: string) => {
  const { status, json } = await list(query);
  expect(status).toBe(200);
  return json.items.map(({ job_id }: { job_id: string }) => job_id) as string[];
};

test('a list has the tenant’s jobs, newest first, and no jobs of other tenants', { tags: ['List-1'] }, async () => {
  expect(await idsOf('')).toEqual(ids.toReversed());
  const { json } = await list('', rig().beta.key);
  expect(json.items).toHaveLength(1);
});

test('each item of a list has exactly the members that the contract specifies', {
  tags: ['Bodies-3', 'Bodies-3a'],
}, async () => {
  const { json } = await list('?limit=1');
  const detail = await rig().alpha.client.detail(ids.at(-1) ?? '');
  const {
    job_id,
    status,
    language,
    runtime,
    created_at,
    started_at,
    finished_at,
    duration_ms,
    exit_code,
    terminal_reason,
  } = detail;
  const lifecycle = {
    job_id,
    status,
    language,
    runtime,
    created_at,
    started_at,
    finished_at,
    duration_ms,
    exit_code,
    terminal_reason,
  };
  const first_line = detail.requested_spec.code;
  const { available: attestation_available } = detail.attestation;
  expect(json.items).toEqual([{ ...lifecycle, truncated: false, attestation_available, first_line }]);
});

describe('the pages of a list', () => {
  test.each([1, 2, 4, 6, 200])(
    'pages of at most %i jobs together are the whole list, with each job once',
    { tags: ['Bodies-2', 'List-2'] },
    async (limit) => {
      const seen: string[] = [];
      for (let cursor = ''; ; ) {
        const { json } = await list(`?limit=${limit}${cursor && `&cursor=${cursor}`}`);
        seen.push(...json.items.map(({ job_id }: { job_id: string }) => job_id));
        if (json.next_cursor === null) break;
        cursor = encodeURIComponent(json.next_cursor);
      }
      expect(seen).toEqual(ids.toReversed());
    },
  );

  test('after the first one stay the same when a new job is submitted', { tags: ['List-7'] }, async () => {
    const { json } = await list('?limit=2');
    const { job_id } = await rig().run({ language: 'bash', code: 'true' });
    expect(await idsOf(`?limit=3&cursor=${encodeURIComponent(json.next_cursor)}`)).toEqual(
      ids.toReversed().slice(2, 5),
    );
    ids.push(job_id);
  });

  test('have cursors that another tenant cannot use', { tags: ['List-3'] }, async () => {
    const { json } = await list('?limit=1');
    const foreign = await list(`?cursor=${encodeURIComponent(json.next_cursor)}`, rig().beta.key);
    expect([foreign.status, foreign.json.error.code]).toEqual([400, 'invalid_request']);
  });
});

describe('the filters of a list', () => {
  test('accept one status or several', { tags: ['List-4'] }, async () => {
    const failed = ids[5] ?? '';
    expect(await idsOf('?status=failed')).toEqual([failed]);
    expect(await idsOf('?status=failed,timed_out,error')).toEqual([failed]);
    expect(await idsOf('?status=queued,running')).toEqual([]);
  });

  test('accept a language, alone or together with a status', { tags: ['List-5'] }, async () => {
    expect(await idsOf('?language=python')).toEqual([ids[1]]);
    expect(await idsOf('?language=node&status=succeeded')).toEqual([ids[3]]);
    expect(await idsOf('?language=node&status=failed')).toEqual([]);
  });

  test('apply to all pages', async () => {
    const { json } = await list('?language=bash&limit=1');
    const next = await idsOf(`?language=bash&limit=200&cursor=${encodeURIComponent(json.next_cursor)}`);
    expect(next).toEqual([ids[5], ids[4], ids[2], ids[0]]);
  });

  test.each([
    '?limit=0',
    '?limit=201',
    '?limit=-1',
    '?limit=1.5',
    '?limit=many',
    '?limit=',
    '?status=done',
    '?status=succeeded,done',
    '?status=',
    '?language=cobol',
    '?language=',
    '?cursor=x',
    '?cursor=',
    '?tenant=beta',
    '?limit=1&limit=2',
  ])('the query %s is refused', { tags: ['List-2', 'List-6'] }, async (query) => {
    const { status, json } = await list(query);
    expect([status, json.error.code]).toEqual([400, 'invalid_request']);
  });
});
