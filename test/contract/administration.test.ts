/** The operator's commands find the right service. They never create a data directory or a store: only a service does. */

import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished } from 'vitest';
import { Command, type CommandOptions, vouchbox } from '../rig/command.ts';
import { slowTest, quickTest as test } from '../rig/form.ts';

let scratch: string;
let directories = 0;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-administration-'));
});
afterAll(() => rmSync(scratch, { recursive: true }));

function emptyDirectory(): string {
  const path = join(scratch, String(++directories));
  mkdirSync(path, { mode: 0o700 });
  return path;
}

/**
 * Runs commands that find only this test's services. They look for services in a directory that belongs to the test, so
 * they cannot find other services on this machine.
 */
function ownHost(): (words: readonly string[], options?: CommandOptions) => Command {
  const place = emptyDirectory();
  const within = [
    ...['unshare', '--mount', '--propagation', 'private', 'sh', '-c'],
    ...['mkdir -p /run/svc && mount --bind "$0" /run/svc && exec "$@"', place],
  ];
  return (words, options = {}) => new Command(words, { ...options, within });
}

const SERVING = { SERVICE_PORT: '0', SERVICE_PROVIDER: 'subprocess', SERVICE_LOG_LEVEL: 'fatal' };

/** Every administrative command, without an option that names a service. */
const COMMANDS = [
  ['keys', 'create', '--tenant', 'acme'],
  ['keys', 'list'],
  ['keys', 'rotate', 'some'],
  ['keys', 'revoke', 'some'],
  ['attestation-keys', 'rotate'],
  ['attestation-keys', 'list'],
  ['attestation-keys', 'export'],
  ['backup', 'file.db'],
  ['copy-store', 'postgres://127.0.0.1:1/none'],
  ['packs', 'build', 'python-data'],
  ['packs', 'list'],
  ['packs', 'verify', 'python-data'],
  ['packs', 'remove', 'python-data'],
];

describe('if there is neither a service nor a data directory', () => {
  slowTest.each(COMMANDS.map((words) => [words.join(' '), words] as const))(
    'vouchbox %s asks for --data-dir, and creates nothing in the working directory',
    { tags: ['OPER-03'] },
    async (_name, words) => {
      const cwd = emptyDirectory();
      await using command = ownHost()(words, { cwd });
      const { code, stdout, stderr } = await command.ended();
      expect({ code, stdout, stderr }).toEqual({
        code: 1,
        stdout: '',
        stderr: `vouchbox: no service runs here, and ${join(cwd, 'data')} has no data of a service; give --data-dir or SERVICE_DATA_DIR\n`,
      });
      expect(readdirSync(cwd)).toEqual([]);
    },
  );

  slowTest.each(COMMANDS.slice(0, 8).map((words) => [words.join(' '), words] as const))(
    'vouchbox %s creates nothing in a given directory',
    async (_name, words) => {
      const dataDir = emptyDirectory();
      const { code, stdout, stderr } = await vouchbox([...words, '--data-dir', dataDir], { cwd: emptyDirectory() });
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^vouchbox: [^\n]*\n$/);
      expect(stderr).toContain(dataDir);
      expect(readdirSync(dataDir)).toEqual([]);
    },
  );

  test('vouchbox keys refuses a data directory that does not exist, and says how to make one', async () => {
    const dataDir = join(emptyDirectory(), 'nothing');
    const { code, stderr } = await vouchbox(['keys', 'list', '--data-dir', dataDir], { cwd: emptyDirectory() });
    const says = `there is no data of a service in ${dataDir}; the first start makes it; name another service's directory with --data-dir`;
    expect([code, stderr]).toEqual([1, `vouchbox: ${says}\n`]);
  });

  test('vouchbox export refuses a data directory without a store, and creates nothing in it', async () => {
    const dataDir = emptyDirectory();
    const ended = await vouchbox(['export', 'job_1', '--data-dir', dataDir, '--tenant', 'acme'], {
      cwd: emptyDirectory(),
    });
    expect(ended.stderr).toMatch(/^vouchbox: there is no store .*svc\.db; [^\n]+\n$/);
    expect([ended.code, readdirSync(dataDir)]).toEqual([3, []]);
  });
});

describe('with a running service', () => {
  test('vouchbox keys works from any directory, and prints which data directory it used', {
    tags: ['OPER-03'],
  }, async () => {
    const host = ownHost();
    const dataDir = emptyDirectory();
    await using service = host(['serve'], { env: { ...SERVING, SERVICE_DATA_DIR: dataDir } });
    const [, url = ''] = await service.shows(/listening on (\S+)/);
    await using create = host(['keys', 'create', '--tenant', 'acme'], { cwd: emptyDirectory() });
    const { code, stdout, stderr } = await create.ended();
    expect(code).toBe(0);
    expect(stderr).toContain(`vouchbox: data directory ${dataDir}\n`);
    const whoami = await fetch(`${url}/v1/whoami`, { headers: { authorization: `Bearer ${stdout.trim()}` } });
    expect(await whoami.json()).toMatchObject({ tenant: 'acme' });
  });

  test('vouchbox backup finds a store outside the data directory', async () => {
    const host = ownHost();
    const cwd = emptyDirectory();
    const env = { ...SERVING, SERVICE_DATA_DIR: emptyDirectory(), SERVICE_DATABASE_URL: `sqlite:${cwd}/elsewhere.db` };
    await using service = host(['serve'], { env });
    await service.shows(/listening on/);
    await using backup = host(['backup', 'copy.db'], { cwd });
    expect(await backup.ended()).toMatchObject({ code: 0, stdout: '' });
    expect(readdirSync(cwd)).toContain('copy.db');
  });

  slowTest('a command uses the service of its current directory, whichever other services run', async () => {
    const host = ownHost();
    const cwd = emptyDirectory();
    await using own = host(['serve'], { cwd, env: SERVING });
    await using other = host(['serve'], { env: { ...SERVING, SERVICE_DATA_DIR: emptyDirectory() } });
    await Promise.all([own.shows(/listening on/), other.shows(/listening on/)]);
    await using made = host(['keys', 'create', '--tenant', 'acme', '--principal', 'ci'], { cwd });
    expect(await made.ended()).toMatchObject({ code: 0 });
    await using listed = host(['keys', 'list', '--data-dir', join(cwd, 'data')], { cwd: scratch });
    expect((await listed.ended()).stdout).toContain('acme');
  });

  slowTest('a command without --data-dir is refused if two services run, and the refusal names both', async () => {
    const host = ownHost();
    const [one, two] = [emptyDirectory(), emptyDirectory()];
    await using first = host(['serve'], { env: { ...SERVING, SERVICE_DATA_DIR: one } });
    await using second = host(['serve'], { env: { ...SERVING, SERVICE_DATA_DIR: two } });
    await Promise.all([first.shows(/listening on/), second.shows(/listening on/)]);
    await using unsaid = host(['keys', 'list'], { cwd: scratch });
    const { code, stderr } = await unsaid.ended();
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^vouchbox: there are several services: \S+, \S+; say which with --data-dir or SERVICE_DATA_DIR\n$/,
    );
    expect([stderr.includes(one), stderr.includes(two)]).toEqual([true, true]);
    await using said = host(['keys', 'list', '--data-dir', two], { cwd: scratch });
    expect((await said.ended()).code).toBe(0);
  });

  slowTest.each([['subprocess'], ['namespace']])(
    'an ordinary user’s command finds their own service with the provider %s, from any directory',
    async (SERVICE_PROVIDER) => {
      const user = 54_321;
      const own = mkdtempSync(join(tmpdir(), 'svc-administration-'));
      onTestFinished(() => rmSync(own, { recursive: true }));
      const dataDir = join(own, 'data');
      mkdirSync(dataDir);
      for (const path of [own, dataDir]) chownSync(path, user, user);
      const within = ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'];
      const env = { TMPDIR: own };
      await using service = new Command(['serve'], {
        env: { ...SERVING, ...env, SERVICE_PROVIDER, SERVICE_DATA_DIR: dataDir },
        within,
      });
      await service.shows(/listening on/);
      const found = await vouchbox(['attestation-keys', 'list'], { cwd: own, within, env });
      expect([found.code, found.stderr]).toEqual([0, `vouchbox: data directory ${dataDir}\n`]);
    },
  );

  slowTest("each command refuses with one line if another user owns the service's temporary directory", async () => {
    const own = mkdtempSync(join(tmpdir(), 'svc-administration-'));
    onTestFinished(() => rmSync(own, { recursive: true }));
    chmodSync(own, 0o777);
    mkdirSync(join(own, 'svc-54321'));
    writeFileSync(join(own, 'program.py'), 'print(1)');
    const within = ['setpriv', '--reuid=54321', '--regid=54321', '--clear-groups'];
    for (const [ends, ...words] of [
      [125, 'run', 'program.py'],
      [1, 'demo', '--once'],
      [1, 'serve'],
      [1, 'keys', 'list'],
    ] as const) {
      const env = {
        ...SERVING,
        SERVICE_PROVIDER: 'auto',
        TMPDIR: own,
        HOME: own,
        SERVICE_DATA_DIR: join(own, `data-${words[0]}`),
      };
      const { code, stderr } = await vouchbox(words, { cwd: own, within, env });
      const told = `${own}/svc-54321 must be a directory that only this user can access; remove it, or set TMPDIR to a directory`;
      expect([words, code, stderr]).toEqual([words, ends, expect.stringContaining(`vouchbox: ${told}`)]);
      expect(stderr).not.toMatch(/^ +at /m);
    }
  });

  slowTest('each command refuses with one line if there is no temporary directory', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'svc-administration-'));
    onTestFinished(() => rmSync(cwd, { recursive: true }));
    chmodSync(cwd, 0o777);
    const env = { ...SERVING, SERVICE_PROVIDER: 'auto', TMPDIR: '/nonexistent', SERVICE_DATA_DIR: join(cwd, 'data') };
    const within = ['setpriv', '--reuid=54321', '--regid=54321', '--clear-groups'];
    for (const words of [['serve'], ['keys', 'list']]) {
      const { code, stderr } = await vouchbox(words, { cwd, within, env });
      const told = /^vouchbox: ENOENT: .*mkdir '\/nonexistent\/svc-54321'; set TMPDIR to a directory of this user\n$/;
      expect([words, code, stderr]).toEqual([words, 1, expect.stringMatching(told)]);
    }
  });

  test('a command is refused if its user is not the service’s user, and the message says which user to become', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'svc-administration-'));
    onTestFinished(() => rmSync(cwd, { recursive: true }));
    chmodSync(cwd, 0o755);
    mkdirSync(join(cwd, 'data'), { mode: 0o700 });
    const within = ['setpriv', '--reuid=54321', '--clear-groups'];
    const { code, stderr } = await vouchbox(['keys', 'list'], { cwd, within });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /no service of this user runs here, and \S+data cannot be read; .* as the user of the service/,
      ),
    ]);
  });

  slowTest('a killed service is not found, but its data directory can still be named', async () => {
    const host = ownHost();
    const dataDir = emptyDirectory();
    await using service = host(['serve'], { env: { ...SERVING, SERVICE_DATA_DIR: dataDir } });
    await service.shows(/listening on/);
    service.kill('SIGKILL');
    await service.ended();
    await using list = host(['keys', 'list'], { cwd: emptyDirectory() });
    expect((await list.ended()).stderr).toContain('no service runs here');
    await using stopped = host(['keys', 'list', '--data-dir', dataDir], { cwd: emptyDirectory() });
    expect((await stopped.ended()).code).toBe(0);
  });
});
