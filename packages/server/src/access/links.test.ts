import { readFileSync } from 'node:fs';
import { linksOfJobMax, linksOfTenantMax } from '@vouchbox/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Caller } from '../ground/caller.ts';
import { ServiceError } from '../ground/service-error.ts';
import type { CredentialRow } from '../store/records/rows.ts';
import { admitJob, finishOf, startOf, TestStore } from '../store/store.fixture.ts';
import { createAccess } from './authenticate.ts';
import { rememberedRows } from './credential-rows.ts';
import { createIndexedKeys, newKey } from './indexed.ts';
import { createLegacyKeys } from './legacy.ts';
import { createLinks, type Links, type LinkWish } from './links.ts';

let testStore: TestStore;
beforeAll(async () => {
  testStore = await TestStore.open();
});
afterAll(() => testStore[Symbol.asyncDispose]());

const START = Date.parse('2026-06-01T00:00:00.000Z');
const HOUR: LinkWish = { shows: [], seconds: 3600 };

/** A process on the store, with a clock of its own, a key issued to acme's alice, and a legacy key. */
async function process(legacyKey = 'sesame') {
  let time = START;
  const now = () => time;
  const rows = rememberedRows(testStore.store);
  const kinds = [createLegacyKeys([{ tenant: 'acme', key: legacyKey }]), createIndexedKeys(rows, now)];
  const access = createAccess(kinds, now);
  const { key, ...issued } = newKey();
  const ends: Pick<CredentialRow, 'expires_at' | 'revoked_at'> = { expires_at: null, revoked_at: null };
  const row: CredentialRow = {
    ...{ ...issued, ...ends, tenant: 'acme', principal: 'alice', scopes: ['jobs:read'] },
    created_at: new Date(START).toISOString(),
  };
  await rows.createCredential(row);
  const callerOf = async (token: string): Promise<Caller> => {
    const caller = await access.authenticate(`Bearer ${token}`);
    if (caller instanceof ServiceError) throw caller;
    return caller;
  };
  return {
    ...{ rows, row, callerOf, alice: await callerOf(key) },
    links: createLinks({ rows: testStore.store, access, now }),
    pass: (milliseconds: number) => (time += milliseconds),
    at: (milliseconds: number) => new Date(time + milliseconds).toISOString(),
  };
}

const jobOf = async (principal?: string) =>
  (await admitJob(testStore.store, principal === undefined ? {} : { principal })).job_id;

/** The id and the secret of a new link. */
async function made(links: Links, caller: Caller, job_id: string, wish = HOUR) {
  const link = await links.make(caller, job_id, wish);
  if (typeof link === 'string') throw new Error(link);
  const [, id = '', secret = ''] = /^\/links\/([^#]+)#(.+)$/.exec(link.link_url) ?? [];
  return { link, id, secret, open: () => links.open(id, secret) };
}

test('a link opens its job with the rights of the credential that made the link, and the store keeps no secret', {
  tags: ['Links-2'],
}, async () => {
  const { links, alice } = await process();
  const job_id = await jobOf('alice');
  const { link, id, secret, open } = await made(links, alice, job_id, { shows: ['code'], seconds: 60 });
  expect(link).toMatchObject({ link_id: id, job_id, principal: 'alice', shows: ['code'] });
  expect(Buffer.from(secret, 'base64url')).toHaveLength(32);
  const { expires_at } = link;
  expect(expires_at).toBe('2026-06-01T00:01:00.000Z');
  expect(await open()).toEqual({ caller: alice, job_id, shows: ['code'], expires_at });
  const items = [{ ...link, link_url: undefined }];
  expect(await links.list(alice, job_id)).toEqual({ items, may_make: true });
  expect(await links.list({ ...alice, principal: 'bob' }, job_id)).toEqual({ items, may_make: false });
  const stored = ['', '-wal'].map((suffix) => readFileSync(testStore.path + suffix, 'latin1')).join('');
  expect(stored).toContain(id);
  expect(stored).not.toContain(secret);
});

test("a link opens only with its own secret, and not with another link's secret, a digest or other text", {
  tags: ['Links-6'],
}, async () => {
  const { links, alice } = await process();
  const job_id = await jobOf('alice');
  const [one, other] = [await made(links, alice, job_id), await made(links, alice, job_id)];
  const row = await testStore.store.link(one.id);
  const wrong = [other.secret, row?.secret_sha256 ?? '', one.secret.slice(1), `${one.secret}=`, '', 'A'.repeat(43)];
  for (const secret of wrong) expect(await links.open(one.id, secret)).toBeNull();
  for (const id of [other.id, one.id.toLowerCase(), '', "' or 1=1 --", 'A'.repeat(16)])
    expect(await links.open(id, one.secret)).toBeNull();
  expect(await one.open()).not.toBeNull();
});

test('a link ends at its expiry', { tags: ['Links-7'] }, async () => {
  const { links, alice, pass } = await process();
  const job_id = await jobOf('alice');
  const { open } = await made(links, alice, job_id);
  pass(3_599_999);
  expect(await open()).not.toBeNull();
  pass(1);
  expect([await open(), (await links.list(alice, job_id))?.items]).toEqual([null, []]);
});

test('a link ends when its tenant revokes it, and no other tenant can revoke it', {
  tags: ['Links-3', 'Links-7'],
}, async () => {
  const { links, alice } = await process();
  const job_id = await jobOf('alice');
  const { id, open } = await made(links, alice, job_id);
  expect(await links.revoke({ ...alice, tenant: 'other' }, job_id, id)).toBe(false);
  expect(await links.revoke(alice, await jobOf('alice'), id)).toBe(false);
  expect(await open()).not.toBeNull();
  expect(await links.revoke({ ...alice, principal: 'bob' }, job_id, id)).toBe(true);
  expect([await open(), await links.revoke(alice, job_id, id)]).toEqual([null, false]);
});

test('a link ends when the key that made the link is revoked, rotated or expired', {
  tags: ['Links-7'],
}, async () => {
  const { links, alice, rows, row, at, pass } = await process();
  const job_id = await jobOf('alice');
  const { open } = await made(links, alice, job_id);
  const { key: _, ...fresh } = newKey();
  const successor: CredentialRow = { ...row, ...fresh };
  await rows.rotateCredential({ credential_id: row.credential_id, successor, at: at(60_000) });
  expect(await open()).not.toBeNull();
  pass(60_000);
  expect([await open(), (await links.list(alice, job_id))?.items]).toEqual([null, []]);
  const next = { ...alice, credential_id: successor.credential_id };
  const second = await made(links, next, job_id);
  await rows.revokeCredential({ credential_id: successor.credential_id, at: at(0) });
  expect([await second.open(), (await links.list(alice, job_id))?.items]).toEqual([null, []]);
});

test('a link ends when its key is revoked at a node of an older version, which does not know links', {
  tags: ['Links-7'],
}, async () => {
  const { links, alice, at } = await process();
  const job_id = await jobOf('alice');
  const gone = { ...alice, credential_id: 'of-no-row' };
  const { open } = await made(links, gone, job_id);
  const expiring = await made(links, { ...alice, expires_at: at(1000) }, job_id);
  expect([await open(), expiring.link.expires_at]).toEqual([null, at(1000)]);
});

test('a link made with a legacy key survives a restart, and ends when the operator removes the key', {
  tags: ['Links-7'],
}, async () => {
  const { links, callerOf } = await process();
  const job_id = await jobOf('legacy:acme');
  const { id, secret, open } = await made(links, await callerOf('sesame'), job_id);
  expect(await open()).not.toBeNull();
  expect(await (await process()).links.open(id, secret)).not.toBeNull();
  expect(await (await process('another')).links.open(id, secret)).toBeNull();
});

test('a link is removed with its job', { tags: ['Links-7'] }, async () => {
  const { store } = testStore;
  const { links, alice } = await process();
  const key = { tenant: 'acme', job_id: await jobOf('alice') };
  const { id, open } = await made(links, alice, key.job_id);
  await store.start(startOf(key));
  await store.finish(finishOf(key));
  await store.deleteEnded({ before: '9999-01-01T00:00:00.000Z', limit: 99, unattested: 'removed' });
  expect([await open(), await store.link(id), await links.list(alice, key.job_id)]).toEqual([null, null, null]);
});

test('only the principal that submitted a job can make a link to it, and nobody can if that principal is unknown', {
  tags: ['Links-8'],
}, async () => {
  const { links, alice } = await process();
  const job_id = await jobOf('alice');
  expect(await links.make({ ...alice, principal: 'bob' }, job_id, HOUR)).toBe('not_allowed');
  expect(await links.make({ ...alice, tenant: 'other' }, job_id, HOUR)).toBe('not_found');
  expect(await links.make(alice, await jobOf(), HOUR)).toBe('not_allowed');
  expect(await links.list({ ...alice, tenant: 'other' }, job_id)).toBeNull();
});

test('a job and a tenant may have a bounded number of links that have not ended', {
  tags: ['Links-8'],
}, async () => {
  const { links, alice, pass } = await process();
  const job_id = await jobOf('alice');
  for (let count = 0; count < linksOfJobMax; count++) await made(links, alice, job_id);
  expect(await links.make(alice, job_id, HOUR)).toBe('full job');
  const jobs = await Promise.all(Array.from({ length: linksOfTenantMax / linksOfJobMax }, () => jobOf('alice')));
  const answers = await Promise.all(
    jobs.flatMap((job) => Array.from({ length: linksOfJobMax }, () => links.make(alice, job, HOUR))),
  );
  expect(answers).toContain('full tenant');
  expect(answers.filter((answer) => typeof answer !== 'string').length).toBeLessThan(linksOfTenantMax);
  pass(3_600_000);
  expect(await links.make(alice, job_id, HOUR)).toMatchObject({ job_id });
});

test('the id of a link never looks like a command-line option', async () => {
  const access = createAccess([createLegacyKeys([{ tenant: 'acme', key: 'sesame' }])]);
  const caller = (await access.authenticate('Bearer sesame')) as Caller;
  const [nothing, created] = [async () => null, async () => 'created' as const];
  const rows = { createLink: created, link: nothing, links: nothing, revokeLink: async () => false };
  const links = createLinks({ rows, access });
  for (let made = 0; made < 1000; made++)
    expect(await links.make(caller, 'job', HOUR)).toMatchObject({ link_id: expect.stringMatching(/^[^-]/) });
});
