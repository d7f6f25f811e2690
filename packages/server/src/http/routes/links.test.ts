/** Reading links over HTTP: what the log shows, and which limits readers have. */
import { sha256Hex } from '@vouchbox/evidence';
import { expect, test } from 'vitest';
import type { Caller } from '../../ground/caller.ts';
import { LINK, SECRET_OF_LINK } from '../links.fixture.ts';
import { bearer, credentialWith, JOB, openServer } from '../server.fixture.ts';

test('a link’s secret appears only in the answer that creates the link, and never in the log or another answer', {
  tags: ['Links-2'],
}, async () => {
  await using server = await openServer();
  const made = await fetch(`${server.url}/v1/jobs/${JOB}/links`, {
    method: 'POST',
    headers: { ...bearer(), 'content-type': 'application/json' },
    body: '{}',
  });
  const { link_url } = (await made.json()) as { link_url: string };
  const [, told = ''] = link_url.split('#');
  const asked = [bearer(SECRET_OF_LINK), bearer(`${SECRET_OF_LINK}x`), bearer(told)].flatMap((headers) =>
    ['job', 'result', 'attestation', 'nothing', 'result-artifact'].map((part) =>
      fetch(`${server.url}/links/${LINK}/${part}`, { headers }),
    ),
  );
  const answers = await Promise.all((await Promise.all(asked)).map((answer) => answer.text()));
  const lines = () => server.log.filter((line) => 'status' in line).length;
  await expect.poll(lines).toBeGreaterThan(asked.length);
  const seen = JSON.stringify([server.log, answers]);
  for (const secret of [SECRET_OF_LINK, told]) expect(seen).not.toContain(secret);
});

test('readers of links have their own request budget, and a request without the secret takes nothing from that budget', {
  tags: ['Links-10'],
}, async () => {
  await using server = await openServer({ rate: { perSecond: 0.001, burst: 2 } });
  const read = async (secret: string) =>
    (await fetch(`${server.url}/links/${LINK}/job`, { headers: bearer(secret) })).status;
  for (let times = 0; times < 5; times++) expect(await read('A'.repeat(43))).toBe(404);
  expect([await read(SECRET_OF_LINK), await read(SECRET_OF_LINK), await read(SECRET_OF_LINK)]).toEqual([200, 200, 429]);
  expect((await fetch(`${server.url}/v1/whoami`, { headers: bearer() })).status).toBe(200);
});

test('readers of links do not use the tenant’s permits for large responses', { tags: ['Links-10'] }, async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const result = async () => {
    await held;
    throw new Error('nobody asks for it');
  };
  await using server = await openServer({ permits: { response: { total: 9, perTenant: 1 } }, jobs: { result } });
  const reading = fetch(`${server.url}/links/${LINK}/result`, { headers: bearer(SECRET_OF_LINK) });
  await expect.poll(() => server.permits.held('response')).toBe(1);
  const another = await fetch(`${server.url}/links/${LINK}/job`, { headers: bearer(SECRET_OF_LINK) });
  expect([another.status, another.headers.get('retry-after')]).toEqual([429, '1']);
  expect((await fetch(`${server.url}/v1/jobs/${JOB}`, { headers: bearer() })).status).toBe(200);
  release();
  expect((await reading).status).toBe(500);
});

test('an answer in progress ends when its link expires', { tags: ['Links-7'] }, async () => {
  const kind = credentialWith('a token', []);
  const caller = (await kind.resolve('a token')) as Caller;
  const link = async () => ({
    ...{ job_id: JOB, link_id: LINK, secret_sha256: sha256Hex(SECRET_OF_LINK), shows: [] },
    created_at: new Date().toISOString(),
    expires_at: new Date(Date.now() + 500).toISOString(),
    caller,
  });
  const result = () => new Promise<never>(() => undefined);
  await using server = await openServer({ credentials: [kind], linkRows: { link }, jobs: { result } });
  const reading = fetch(`${server.url}/links/${LINK}/result`, {
    headers: bearer(SECRET_OF_LINK),
    signal: AbortSignal.timeout(8000),
  });
  await expect(reading).rejects.toThrow('fetch failed');
});
