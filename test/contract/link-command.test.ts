/** `vouchbox link` and `vouchbox links`: the command line makes links to a result, lists them and revokes them. */
import { openCredentials } from '@vouchbox/server';
import { expect, test } from 'vitest';
import { vouchbox } from '../rig/command.ts';
import { type Rig, useRig } from '../rig/rig.ts';

const rig = useRig({ provider: 'subprocess', links: 'on' });
const withoutLinks = useRig({ provider: 'subprocess' });

function commandAt({ service, alpha }: Rig, ...words: string[]) {
  return vouchbox(words, { env: { SERVICE_URL: service.url, SERVICE_KEY: alpha.key } });
}
const command = (...words: string[]) => commandAt(rig(), ...words);

const ran = async (at = rig()) => (await at.run({ language: 'bash', code: 'echo handed on' })).job_id;

test('vouchbox link prints only an address, and the address opens the result for anyone until the link is revoked', async () => {
  const job = await ran();
  const made = await command('link', job, '--show', 'code,files', '--expires-in', '1h');
  expect([made.code, made.stdout]).toEqual([0, expect.stringMatching(/^http:\/\/\S+\/links\/\S+#\S+\n$/)]);
  const address = new URL(made.stdout.trim());
  const [id = '', secret] = [address.pathname.split('/').at(-1), address.hash.slice(1)];
  expect(made.stderr).toBe(
    `vouchbox: anyone with the link sees the output and the receipt, code, files until ${(await rig().alpha.client.links(job)).items[0]?.expires_at}; \`vouchbox links revoke ${job} ${id}\` ends it\nvouchbox: nobody on another host can open this address: give the public address of the service with --url\n`,
  );
  const read = () => rig().request(`${address.pathname}/job`, { key: secret });
  expect((await read()).json).toMatchObject({ job_id: job, requested_spec: { code: 'echo handed on' } });
  const listed = await command('links', job);
  expect(listed.stdout).toMatch(/^link_id +principal +shows +created_at +expires_at\n/);
  expect(listed.stdout).toMatch(new RegExp(`^${id} +legacy:alpha +code,files +\\S+ +\\S+$`, 'm'));
  expect(await command('links', 'revoke', job, address.href)).toMatchObject({
    code: 0,
    stdout: `${id} is revoked\n`,
    stderr: '',
  });
  expect((await read()).json.error.code).toBe('link_not_found');
  const again = await command('links', 'revoke', job, id);
  expect([again.code, again.stderr]).toEqual([
    1,
    expect.stringMatching(/link_not_found, .*\); `vouchbox links JOB` lists the links of a job\n$/),
  ]);
});

test('vouchbox link --json prints the whole link, and vouchbox links prints no secrets', async () => {
  const job = await ran();
  const link = JSON.parse((await command('link', job, '--json')).stdout) as Record<string, string>;
  const { link_url = '', address, ...rest } = link;
  expect([address, rest['shows']]).toEqual([rig().service.url + link_url, []]);
  const { stdout } = await command('links', 'list', job, '--json');
  expect(JSON.parse(stdout)).toEqual([rest]);
});

test.each([
  [['--show', 'code,events'], '--show events: a link can show code, input, files'],
  [['--expires-in', '59s'], '--expires-in: a link lasts at least 1m and at most 7d'],
  [['--expires-in', '8d'], '--expires-in: a link lasts at least 1m and at most 7d'],
  [['--expires-in', 'soon'], 'Write a whole number and s, m, h or d, as in 7d.'],
])('%j is wrong usage, and makes no link', async (words, told) => {
  const job = await ran();
  const { code, stdout, stderr } = await command('link', job, ...words);
  expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(told)]);
  expect((await rig().alpha.client.links(job)).items).toEqual([]);
});

test('vouchbox link recommends vouchbox export if the service allows no links', async () => {
  const { code, stdout, stderr } = await commandAt(withoutLinks(), 'link', await ran(withoutLinks()));
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(
    /^vouchbox: The operator allows no links to results\. \(links_disabled, .*\); `vouchbox export` writes .*\n$/,
  );
});

test("vouchbox link says that only the job's principal may make links, or that the job has too many links", async () => {
  await using operator = await openCredentials({ dataDir: rig().dataDir });
  const { key } = await operator.create({ tenant: 'alpha', principal: 'bob', scopes: null, expires_at: null });
  const job = await ran();
  const asBob = await vouchbox(['link', job], { env: { SERVICE_URL: rig().service.url, SERVICE_KEY: key } });
  expect([asBob.code, asBob.stderr]).toEqual([1, expect.stringContaining('Only the principal that submitted the job')]);
  for (let made = 0; made < 20; made++) await rig().alpha.client.createLink(job);
  const full = await command('link', job);
  expect([full.code, full.stderr]).toEqual([1, expect.stringContaining('The job has 20 links already. Revoke one.')]);
});
