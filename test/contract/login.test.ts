/** `vouchbox login`, `logout` and `profiles`: which service the other commands call, and with which key. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type CommandOptions, type Ended, vouchbox } from '../rig/command.ts';
import { useRig } from '../rig/rig.ts';

const rig = useRig();
let config: string;
beforeEach(() => {
  config = mkdtempSync(join(tmpdir(), 'svc-login-'));
  onTestFinished(() => rmSync(config, { recursive: true }));
});

const call = (words: readonly string[], { env, ...options }: CommandOptions = {}): Promise<Ended> =>
  vouchbox(words, { ...options, env: { XDG_CONFIG_HOME: config, ...env } });
const file = () => join(config, 'vouchbox/profiles.json');
const login = (who: 'alpha' | 'beta', ...words: string[]) =>
  call(['login', '--url', rig().service.url, ...words], { stdin: `${rig()[who].key}\n` });
const tenantOf = async (job: string, words: readonly string[], env: Record<string, string> = {}) => {
  const { code, stdout, stderr } = await call(['jobs', 'show', job, ...words], { env });
  return code === 0 ? JSON.parse(stdout).tenant : stderr;
};

describe('vouchbox login', () => {
  test('stores address and key in a file that only its owner can read, and never prints the key', async () => {
    const { key } = rig().alpha;
    const { code, stdout, stderr } = await login('alpha');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^profile default: http:\S+, as \S+ of tenant \S+, for /);
    const listed = await call(['profiles', '--json']);
    expect(JSON.parse(listed.stdout)).toEqual([{ profile: 'default', url: rig().service.url, used: true }]);
    expect(stdout + stderr + listed.stdout + listed.stderr).not.toContain(key);
    expect(readFileSync(file(), 'utf8')).toContain(key);
    expect([statSync(file()).mode & 0o777, statSync(join(config, 'vouchbox')).mode & 0o777]).toEqual([0o600, 0o700]);
  });

  test('takes the key from --key, else from stdin, else from SERVICE_KEY', async () => {
    const env = { SERVICE_KEY: rig().beta.key };
    const words = ['login', '--json', '--url', rig().service.url];
    const tenants = {
      alpha: (await rig().alpha.client.whoami()).tenant,
      beta: (await rig().beta.client.whoami()).tenant,
    };
    const loggedInTo = async (more: readonly string[], stdin: string) =>
      JSON.parse((await call([...words, ...more], { env, stdin })).stdout).tenant;
    expect(await loggedInTo([], `${rig().alpha.key}\n`)).toBe(tenants.alpha);
    expect(await loggedInTo([], '')).toBe(tenants.beta);
    expect(await loggedInTo(['--key', rig().alpha.key], `${rig().beta.key}\n`)).toBe(tenants.alpha);
  });

  test('stores no profile for a key that the service refuses, or for an invalid address', async () => {
    const words = ['login', '--url', rig().service.url, '--key', 'unknown'];
    expect(await call(words)).toMatchObject({ code: 1, stderr: expect.stringContaining('unauthorized') });
    for (const url of ['localhost:8080', 'http://me:secret@127.0.0.1:1']) {
      const { code, stderr } = await call(['login', '--url', url, '--key', 'k']);
      expect([code, stderr]).toEqual([2, expect.not.stringContaining('secret@')]);
    }
    expect((await call(['login'])).code).toBe(2);
    expect((await call(['profiles', '--json'])).stdout).toBe('[]\n');
  });

  test('stores a profile under the name in --profile; options and the environment override the profile’s values', async () => {
    await login('alpha');
    await login('beta', '--profile', 'other');
    const [alpha, beta] = [await rig().alpha.client.whoami(), await rig().beta.client.whoami()];
    const ofAlpha = (await rig().run({ language: 'bash', code: 'true' })).job_id;
    const unknown = expect.stringContaining('job_not_found');
    expect(alpha.tenant).not.toBe(beta.tenant);
    expect(await tenantOf(ofAlpha, [])).toBe(alpha.tenant);
    expect(await tenantOf(ofAlpha, ['--profile', 'other'])).toEqual(unknown);
    expect(await tenantOf(ofAlpha, [], { SERVICE_PROFILE: 'other' })).toEqual(unknown);
    expect(await tenantOf(ofAlpha, [], { SERVICE_KEY: rig().beta.key })).toEqual(unknown);
    expect(await tenantOf(ofAlpha, ['--profile', 'other', '--key', rig().alpha.key])).toBe(alpha.tenant);
    const named = { SERVICE_URL: rig().service.url, SERVICE_KEY: rig().beta.key };
    expect(await tenantOf(ofAlpha, [], named)).toEqual(unknown);
    expect(await tenantOf(ofAlpha, ['--profile', 'default'], named)).toBe(alpha.tenant);
    const { code, stderr } = await call(['jobs', '--profile', 'gone']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('there are default, other')]);
  });

  test('stores a profile, and an MCP configuration then names this profile', async () => {
    const configured = async (env: Record<string, string> = {}) => {
      const { stdout, stderr } = await call(['mcp', 'config', 'claude'], { env });
      expect(stderr).not.toContain('starts cells itself');
      return JSON.parse(stdout).mcpServers.vouchbox;
    };
    await login('alpha');
    await login('beta', '--profile', 'other');
    expect(await configured()).toMatchObject({ args: ['mcp', '--profile', 'default'] });
    expect(await configured({ SERVICE_PROFILE: 'other' })).toMatchObject({ args: ['mcp', '--profile', 'other'] });
    const named = await configured({ SERVICE_URL: rig().service.url });
    expect(named).toMatchObject({ args: ['mcp'], env: { SERVICE_URL: rig().service.url } });
  });

  test('stores a key that is sent only to its profile’s address', async () => {
    await login('alpha');
    const { code, stderr } = await call(['jobs', '--url', 'http://127.0.0.1:1']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('needs a key')]);
  });

  test.each(['', 'k\u00fc'])('says in one line that %j is no key', async (key) => {
    const { code, stderr } = await call(['jobs', '--url', 'http://127.0.0.1:1', '--key', key]);
    expect([code, stderr.trimEnd().split('\n')]).toEqual([2, [expect.stringContaining('the key is empty, or has')]]);
  });

  test('says in one line that the profile cannot be written', async () => {
    const within = ['unshare', '--mount', 'sh', '-ec', 'mount -t tmpfs -o ro none "$0"; exec "$@"', config];
    const words = ['login', '--url', rig().service.url, '--key', rig().alpha.key];
    expect(await call(words, { within })).toEqual({
      ...{ code: 1, signal: null, stdout: '' },
      stderr: expect.stringMatching(/^vouchbox: .*profiles\.json cannot be written: .*\n$/),
    });
    const withoutHome = {
      within: ['setpriv', '--reuid=54321', '--clear-groups'],
      env: { XDG_CONFIG_HOME: '', HOME: '' },
    };
    expect(await call(words, withoutHome)).toMatchObject({
      ...{ code: 1, stdout: '' },
      stderr: expect.stringMatching(/^vouchbox: \/\.config\/vouchbox\/profiles\.json cannot be written: .*EACCES.*\n$/),
    });
    expect(await call(['profiles', '--json'], withoutHome)).toMatchObject({ code: 0, stdout: '[]\n', stderr: '' });
    for (const [home, code] of [
      ['/proc/1/none', 'ENOENT'],
      ['/dev/null', 'ENOTDIR'],
    ] as const) {
      const env = { XDG_CONFIG_HOME: '', HOME: home };
      expect(await call(['profiles', '--json'], { env })).toMatchObject({ code: 0, stdout: '[]\n', stderr: '' });
      expect(await call(words, { env })).toMatchObject({
        ...{ code: 1, stdout: '' },
        stderr: expect.stringMatching(`profiles\\.json cannot be written: ${code}.*; set XDG_CONFIG_HOME to [^;]*\n$`),
      });
    }
  });

  test('stores profiles in a file; later commands refuse a file that is malformed or that others can read', async () => {
    await login('alpha');
    chmodSync(file(), 0o640);
    const read = await call(['jobs']);
    expect([read.code, read.stderr]).toEqual([1, expect.stringContaining(`run chmod 600 ${file()}`)]);
  });
});

describe('vouchbox logout', () => {
  test('removes one profile or all profiles, and leaves every key valid at the service', async () => {
    await login('alpha');
    await login('alpha', '--profile', 'a');
    await login('alpha', '--profile', 'b');
    expect(await call(['logout', '--profile', 'a'])).toMatchObject({ code: 0, stdout: 'removed: a\n' });
    expect((await call(['logout', '--profile', 'a'])).code).toBe(2);
    expect(JSON.parse((await call(['logout', '--all', '--json'])).stdout)).toEqual({ removed: ['default', 'b'] });
    expect(readFileSync(file(), 'utf8')).not.toContain(rig().alpha.key);
    expect((await call(['jobs'])).code).toBe(2);
    await rig().alpha.client.whoami();
  });
});
