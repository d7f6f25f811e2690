/** Spec § Links: with a link's secret, anyone can read one job's result and nothing else. Without it, a link shows nothing. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { sha256Hex } from '@vouchbox/evidence';
import type { FoldedResult, JobSubmission, LinkedJob, NewLink } from '@vouchbox/protocol';
import { openCredentials } from '@vouchbox/server';
import { expect, test } from 'vitest';
import { vouchbox } from '../rig/command.ts';
import { type Answer, Rig, type RigSettings, useRig } from '../rig/rig.ts';

const SETTINGS: RigSettings = { provider: 'subprocess', 'attestation-mode': 'on', links: 'on' };
const rig = useRig(SETTINGS);

const PROGRAM: JobSubmission = {
  language: 'bash',
  code: 'echo "<script>alert(document.domain)</script>"; cat >/dev/null; echo left >output/left.txt; echo big >output/big.bin',
  stdin: 'what went in',
  args: ['an argument'],
  env: { A_NAME: 'a value' },
  files: [{ path: 'input/given.txt', content_base64: 'Z2l2ZW4=' }],
  outputs: ['output/left.txt'],
  large_outputs: { paths: ['output/big.bin'], max_bytes: 99 },
};
const SECRETS = /what went in|an argument|a value|Z2l2ZW4=|cat >\/dev\/null|bGVmdAo=/;

/** Runs a job, and returns its id once the job is signed. */
async function signed(to: Rig = rig(), more: Partial<JobSubmission> = {}): Promise<string> {
  const { job_id } = await to.run({ ...PROGRAM, ...more });
  await expect.poll(async () => (await to.alpha.client.detail(job_id)).attestation.available).toBe(true);
  return job_id;
}

interface Given {
  readonly link: NewLink;
  readonly id: string;
  readonly secret: string;
}

async function linkTo(job_id: string, shows: readonly string[] = [], to: Rig = rig()): Promise<Given> {
  const { status, json } = await to.request(`/v1/jobs/${job_id}/links`, { method: 'POST', body: { shows } });
  expect(status).toBe(201);
  const link = json as NewLink;
  const [, id = '', secret = ''] = /^\/links\/([^#]+)#(.+)$/.exec(link.link_url) ?? [];
  return { link, id, secret };
}

const read = ({ id, secret }: Pick<Given, 'id' | 'secret'>, part: string, to: Rig = rig()) =>
  to.request(`/links/${id}/${part}`, { key: secret });

const PARTS = ['job', 'result', 'attestation', 'result-artifact'];
/** Everything that a refusal says, except its request id. */
const told = ({ status, json, headers }: Answer) => [
  status,
  { ...(json.error as object), request_id: '' },
  [...headers].filter(([name]) => name !== 'date' && name !== 'x-request-id'),
];

test('the shell example in docs/CLIENTS.md reads a result with only the address of a link', async () => {
  const { link } = await linkTo(await signed());
  const page = readFileSync(join(import.meta.dirname, '../../docs/CLIENTS.md'), 'utf8');
  const [, block = ''] = /^```sh\n(address=[^`]*)^```/m.exec(page) ?? [];
  const command = block.replace(/http:[^']+/, rig().service.url + link.link_url);
  const { stdout } = await promisify(execFile)('bash', ['-ec', command]);
  expect((JSON.parse(stdout) as FoldedResult).stdout).toContain('document.domain');
});

test('a link shows status, result, receipt and signed documents, and only the parts of the submission that the link names', {
  tags: ['Links-4', 'Links-5'],
}, async () => {
  const job_id = await signed();
  const given = await linkTo(job_id);
  const answers = await Promise.all(PARTS.map((part) => read(given, part)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  for (const { text } of answers) expect(text).not.toMatch(SECRETS);
  const [job, result] = answers.map(({ json }) => json as unknown) as [LinkedJob, FoldedResult];
  const detail = await rig().alpha.client.detail(job_id);
  expect(job).toMatchObject({ job_id, status: 'succeeded', exit_code: 0, requested_spec: {}, shows: [] });
  expect(job.receipt).toEqual(detail.receipt);
  expect(result).toMatchObject({ stdout: '<script>alert(document.domain)</script>\n', artifacts: [] });
  expect(result).not.toHaveProperty('large_outputs');
  expect(sha256Hex(answers[2]?.text ?? '')).toBe(detail.attestation.envelope_sha256);
  expect(sha256Hex(answers[3]?.text ?? '')).toBe(detail.attestation.result_sha256);
  const [big] = detail.receipt?.large_outputs ?? [];
  expect((await read(given, `blobs/${big?.sha256}`)).json.error.code).toBe('blob_not_found');
});

test('a link that names the code, the input or the files shows this part and no other', {
  tags: ['Links-1', 'Links-4', 'Links-5'],
}, async () => {
  const upload = await rig().alpha.client.upload('uploaded');
  const files = [...(PROGRAM.files ?? []), { path: 'input/named', blob: upload.blob }];
  const job_id = await signed(rig(), { files });
  const [code, input, left] = await Promise.all(['code', 'input', 'files'].map((part) => linkTo(job_id, [part])));
  const specOf = async (given: Given | undefined) =>
    ((await read(given as Given, 'job')).json as LinkedJob).requested_spec;
  expect(await specOf(code)).toEqual({ code: PROGRAM.code });
  const { stdin, args, env } = PROGRAM;
  expect(await specOf(input)).toMatchObject({ stdin, args, env, files: [{ path: 'input/given.txt' }, files[1]] });
  expect(await specOf(input)).not.toHaveProperty('code');
  expect(await specOf(left)).toEqual({});
  const artifactsOf = async (given: Given | undefined) =>
    ((await read(given as Given, 'result')).json as FoldedResult).artifacts.map(({ path }) => path);
  expect(await Promise.all([code, input, left].map(artifactsOf))).toEqual([[], [], ['output/left.txt']]);
  const blobs = async (sha256: string) =>
    await Promise.all(
      [code, input, left].map(async (given) => (await read(given as Given, `blobs/${sha256}`)).text.slice(0, 8)),
    );
  const refused = '{"error"';
  expect(await blobs(sha256Hex('uploaded'))).toEqual([refused, 'uploaded', refused]);
  expect(await blobs(sha256Hex('big\n'))).toEqual([refused, refused, 'big\n']);
  expect(await blobs(sha256Hex('left\n'))).toEqual([refused, refused, refused]);
});

test('a link to a session’s step shows nothing that the session keeps', { tags: ['Links-5'] }, async () => {
  const code = "x = 1; open('output/left.txt', 'w').write('left'); open('output/big.bin', 'w').write('big')";
  const step = { ...PROGRAM, language: 'python', code } as const;
  const first = await signed(rig(), { ...step, session: { name: 'linked', after: null } });
  const job_id = await signed(rig(), { ...step, session: { name: 'linked', after: first } });
  const given = await linkTo(job_id, ['code', 'input', 'files']);
  const { requested_spec } = (await read(given, 'job')).json as LinkedJob;
  expect(requested_spec.files?.map(({ path }) => path)).toEqual(['input/given.txt']);
  const result = (await read(given, 'result')).json as FoldedResult;
  expect(result.artifacts.map(({ path }) => path)).toEqual(['output/left.txt']);
  expect(result.large_outputs?.map(({ path }) => path)).toEqual(['output/big.bin']);
  const { client } = rig().alpha;
  const outputs = await Promise.all([first, job_id].map(async (id) => (await client.result(id)).large_outputs ?? []));
  const states = outputs.flat().filter(({ path }) => path === 'output/.session/state');
  expect(states).toHaveLength(2);
  for (const { sha256 } of states)
    expect((await read(given, `blobs/${sha256}`)).json.error.code).toBe('blob_not_found');
  expect((await read(given, `blobs/${sha256Hex('big')}`)).text).toBe('big');
});

test('a link’s document is sent as an attachment that no browser shows as a page and no cache stores', {
  tags: ['Links-9'],
}, async () => {
  const given = await linkTo(await signed(), ['code', 'input', 'files']);
  for (const part of [...PARTS, `blobs/${sha256Hex('big\n')}`]) {
    const { status, headers } = await read(given, part);
    expect([part, status, headers.get('content-type')]).toEqual([part, 200, expect.not.stringContaining('html')]);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-disposition': 'attachment',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(headers.get('access-control-allow-origin')).toBeNull();
  }
});

test('an unknown link, a wrong secret, the secret of another link, a key and a missing header get the same answer', {
  tags: ['Links-6'],
}, async () => {
  const [given, other] = await Promise.all([linkTo(await signed()), linkTo(await signed())]);
  const ended = await linkTo(given.link.job_id);
  await rig().alpha.client.revokeLink(given.link.job_id, ended.id);
  const ask = (id: string, key: string | null, part: string) => rig().request(`/links/${id}/${part}`, { key });
  for (const part of [...PARTS, `blobs/${'0'.repeat(64)}`]) {
    const answers = await Promise.all([
      ask(given.id, other.secret, part),
      ask(other.id, given.secret, part),
      ask('A'.repeat(16), given.secret, part),
      ask('..%2f..', given.secret, part),
      ask(`${given.id}%00`, given.secret, part),
      ask(given.id, rig().alpha.key, part),
      ask(given.id, rig().beta.key, part),
      ask(given.id, null, part),
      ask(ended.id, ended.secret, part),
      rig().request(`/links/${given.id}/${part}?secret=${given.secret}`, { key: null }),
      rig().request(`/links/${given.id}/${part}`, { key: null, headers: { authorization: given.secret } }),
    ]);
    expect(new Set(answers.map((answer) => JSON.stringify(told(answer))))).toHaveLength(1);
    expect(answers[0]).toMatchObject({ status: 404, json: { error: { code: 'link_not_found' } } });
  }
  expect((await read(given, 'job')).status).toBe(200);
});

test('a link’s secret is refused under /v1 and under link addresses that do not exist', {
  tags: ['Links-6'],
}, async () => {
  const { secret, id, link } = await linkTo(await signed());
  const job = `/v1/jobs/${link.job_id}`;
  for (const path of [job, `${job}/result`, `${job}/links`, '/v1/jobs', '/v1/whoami', '/metrics'])
    expect([path, [401, 404]]).toEqual([
      path,
      expect.arrayContaining([(await rig().request(path, { key: secret })).status]),
    ]);
  const posted = await rig().request(`${job}/links`, { method: 'POST', body: {}, key: secret });
  expect(posted.status).toBe(401);
  for (const path of ['', '/', '/events', '/replay', '/job/../../v1/jobs', '/links'])
    expect([200, 404]).toContain((await rig().request(`/links/${id}${path}`, { key: secret })).status);
  expect((await rig().request(`/links/${id}/events`, { key: secret })).status).toBe(404);
});

test('the list of links has no secrets, and anyone who may read the job can revoke a link', {
  tags: ['Links-2', 'Links-3'],
}, async () => {
  const { client } = rig().alpha;
  const job_id = await signed();
  const first = await client.createLink(job_id, { expires_in: 60, shows: ['code'] });
  const second = await client.createLink(job_id);
  expect(Date.parse(first.expires_at) - Date.parse(first.created_at)).toBe(60_000);
  expect(Date.parse(second.expires_at) - Date.parse(second.created_at)).toBe(86_400_000);
  const { link_url: _url, address: _address, ...listed } = first;
  const { items } = await client.links(job_id);
  expect(items.toSorted((one) => (one.link_id === first.link_id ? -1 : 1))).toEqual([
    listed,
    expect.objectContaining({ link_id: second.link_id, principal: 'legacy:alpha', shows: [] }),
  ]);
  const path = `/v1/jobs/${job_id}/links`;
  expect((await rig().request(path, { key: rig().beta.key })).json.error.code).toBe('job_not_found');
  const asStranger = { method: 'DELETE', key: rig().beta.key };
  expect((await rig().request(`${path}/${first.link_id}`, asStranger)).json.error.code).toBe('job_not_found');
  expect(await client.revokeLink(job_id, first.link_id)).toEqual({ link_id: first.link_id, revoked: true });
  await expect(client.revokeLink(job_id, first.link_id)).rejects.toMatchObject({ code: 'link_not_found' });
  expect((await client.links(job_id)).items).toMatchObject([{ link_id: second.link_id }]);
});

test.each([
  [{ expires_in: 59 }, '/expires_in'],
  [{ expires_in: 604_801 }, '/expires_in'],
  [{ expires_in: 60.5 }, '/expires_in'],
  [{ shows: ['events'] }, '/shows/0'],
  [{ shows: 'code' }, '/shows'],
  [{ seconds: 60 }, '/seconds'],
  [null, 'the body'],
])('a link that asks for %j is refused', { tags: ['Links-1'] }, async (body, place) => {
  const { job_id } = await rig().run({ language: 'bash', code: ':' });
  const { status, json } = await rig().request(`/v1/jobs/${job_id}/links`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  expect([status, json.error.message]).toEqual([400, expect.stringContaining(place)]);
  expect((await rig().alpha.client.links(job_id)).items).toEqual([]);
});

test('only the principal that submitted a job can make links to it, and the links end when that principal’s key is revoked', {
  tags: ['Links-2', 'Links-7', 'Links-8'],
}, async () => {
  await using operator = await openCredentials({ dataDir: rig().dataDir });
  const issue = (principal: string) =>
    operator.create({ tenant: 'alpha', principal, scopes: ['jobs:submit', 'jobs:read'], expires_at: null });
  const [alice, bob] = [await issue('alice'), await issue('bob')];
  const submitted = await rig().post({ language: 'bash', code: 'echo hers' }, { key: alice.key });
  const path = `/v1/jobs/${submitted.json.job_id as string}/links`;
  const make = (key: string) => rig().request(path, { method: 'POST', body: {}, key });
  expect((await make(bob.key)).json.error.code).toBe('principal_not_allowed');
  const mayMake = async (key: string) => (await rig().request(path, { key })).json.may_make;
  expect([await mayMake(bob.key), await mayMake(alice.key)]).toEqual([false, true]);
  expect((await make(rig().beta.key)).json.error.code).toBe('job_not_found');
  const { link_url } = (await make(alice.key)).json as NewLink;
  const [, id = '', secret = ''] = /^\/links\/([^#]+)#(.+)$/.exec(link_url) ?? [];
  expect((await read({ id, secret }, 'job')).status).toBe(200);
  await operator.revoke({ credential_id: alice.credential_id });
  expect((await read({ id, secret }, 'job')).json.error.code).toBe('link_not_found');
  expect((await rig().request(path, { key: bob.key })).json).toEqual({ items: [], may_make: false });
});

test('a link to a running job shows the job’s current state', { tags: ['Links-4', 'Links-5'] }, async () => {
  const { client } = rig().alpha;
  const { job_id } = await client.submit({ language: 'bash', code: 'echo early; sleep 300' });
  for await (const { kind } of client.follow(job_id)) if (kind === 'stdout') break;
  const given = await linkTo(job_id, ['files']);
  expect((await read(given, 'job')).json).toMatchObject({ status: 'running', attestation_available: false });
  expect((await read(given, 'job')).json).not.toHaveProperty('receipt');
  expect((await read(given, 'result')).json).toMatchObject({ stdout: 'early\n', artifacts: [] });
  expect((await read(given, 'attestation')).json.error.code).toBe('job_not_terminal');
  await client.cancel(job_id);
  await client.waitForResult(job_id);
});

/** Reads the link this many times, over fewer connections than one address may have without a credential. */
function readTogether({ id, secret }: Given, times: number): Promise<[status: number, retryAfter: number][]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 40 });
  const headers = { authorization: `Bearer ${secret}` };
  const once = () =>
    new Promise<[number, number]>((resolve, reject) => {
      get(`${rig().service.url}/links/${id}/result`, { agent, headers }, (answer) => {
        answer.resume().on('end', () => resolve([answer.statusCode ?? 0, Number(answer.headers['retry-after'])]));
      }).on('error', reject);
    });
  return Promise.all(Array.from({ length: times }, once)).finally(() => agent.destroy());
}

test('two hundred concurrent readers of a link get an answer or Retry-After, and meanwhile the tenant is served', {
  tags: ['Links-10'],
}, async () => {
  const given = await linkTo(await signed());
  const reading = readTogether(given, 200);
  expect((await rig().request(`/v1/jobs/${given.link.job_id}/attestation`)).status).toBe(200);
  const answers = await reading;
  expect(answers.filter(([status]) => status === 200)).not.toEqual([]);
  const refused = answers.filter(([status]) => status !== 200);
  expect(refused).toEqual(refused.map(() => [429, 1]));
  expect((await read(given, 'result')).status).toBe(200);
});

test('a link survives a restart, and is removed with its job', { tags: ['Links-7'] }, async () => {
  const first = await Rig.start(SETTINGS);
  const job_id = await signed(first);
  const given = await linkTo(job_id, [], first);
  expect(await first.stop('kept')).toEqual([]);
  const second = await Rig.start(SETTINGS, first.dataDir);
  expect((await read(given, 'job', second)).status).toBe(200);
  expect(await second.stop('kept')).toEqual([]);
  {
    using database = new DatabaseSync(join(first.dataDir, 'svc.db'));
    database.prepare('update jobs set finished_at = ?').run('2020-01-01T00:00:00.000Z');
  }
  const third = await Rig.start({ ...SETTINGS, 'retention-days': '100' }, first.dataDir);
  await expect.poll(async () => (await third.request(`/v1/jobs/${job_id}`)).status).toBe(404);
  expect((await read(given, 'job', third)).json.error.code).toBe('link_not_found');
  expect(await third.stop()).toEqual([]);
});

test('a service that allows no links refuses to make or show a link, but lists and revokes existing links', {
  tags: ['Links-11'],
}, async () => {
  const first = await Rig.start(SETTINGS);
  const job_id = await signed(first);
  const given = await linkTo(job_id, [], first);
  expect((await first.alpha.client.capabilities()).features).toContain('links');
  expect(await first.stop('kept')).toEqual([]);
  const second = await Rig.start({ ...SETTINGS, links: 'off' }, first.dataDir);
  const { client } = second.alpha;
  expect((await client.capabilities()).features).not.toContain('links');
  for (const part of ['/job', '/result'])
    expect(await second.request(`/links/${given.id}${part}`, { key: given.secret })).toMatchObject({
      status: 404,
      json: { error: { code: 'links_disabled', message: 'The operator allows no links to results.' } },
    });
  const page = await second.request(`/links/${given.id}`);
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  await expect(client.createLink(job_id)).rejects.toMatchObject({ code: 'links_disabled' });
  expect(await client.links(job_id)).toMatchObject({ items: [{ link_id: given.id }], may_make: false });
  const env = { SERVICE_URL: second.service.url, SERVICE_KEY: second.alpha.key };
  expect((await vouchbox(['links', job_id], { env })).stderr).toContain('the operator allows no links now');
  await client.revokeLink(job_id, given.id);
  expect((await client.links(job_id)).items).toEqual([]);
  expect(await second.stop()).toEqual([]);
});
