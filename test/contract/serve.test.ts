/** `vouchbox serve` as a process: how it starts, refuses to start and stops, and what the next start does. */

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServiceClient } from '@vouchbox/client';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { openTokenIssuer } from '../rig/access-tokens.ts';
import { Command, vouchbox } from '../rig/command.ts';
import { slowTest, quickTest as test } from '../rig/form.ts';
import { leftoversOf } from '../rig/leftovers.ts';
import { Rig, type RigSettings } from '../rig/rig.ts';

let scratch: string;
let directories = 0;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-serve-'));
});
afterAll(() => rmSync(scratch, { recursive: true }));

const freshDirectory = () => join(scratch, String(++directories));
const settingsFor = (dataDir: string) => ({
  SERVICE_PORT: '0',
  SERVICE_DATA_DIR: dataDir,
  SERVICE_PROVIDER: 'namespace',
  SERVICE_LEGACY_KEYS: 'alpha=key-of-alpha',
  SERVICE_CONCURRENCY: '1',
  SERVICE_DRAIN_SECONDS: '0.5',
  SERVICE_LOG_LEVEL: 'silent',
});
/** The timeout for polls. They may take long if the host does other work. */
const soon = { timeout: 20_000 };
const sleeper = { language: 'bash', code: 'echo started; sleep 300', limits: { wall_seconds: 300 } };

async function serving(dataDir: string, env: Record<string, string> = {}, within: string[] = []) {
  const command = new Command(['serve'], { env: { ...settingsFor(dataDir), ...env }, within });
  const [, url = ''] = await command.shows(/^listening on (http:\/\/\S+)\r?\n/m);
  return { command, url, client: createServiceClient({ baseUrl: url, apiKey: 'key-of-alpha' }) };
}

/** Runs the next service on a data directory, in this process, and requires that this service leaves nothing behind. */
async function nextService(
  dataDir: string,
  use: (client: ReturnType<typeof createServiceClient>) => Promise<void>,
  settings: RigSettings = {},
): Promise<void> {
  const rig = await Rig.start({ concurrency: '1', 'drain-seconds': '0.5', ...settings }, dataDir);
  try {
    await use(rig.alpha.client);
  } finally {
    expect(await rig.stop('kept')).toEqual([]);
  }
}

/** Starts a job and resolves once its output shows that it runs. */
async function startedJob(client: ReturnType<typeof createServiceClient>): Promise<string> {
  const { job_id } = await client.submit(sleeper);
  for await (const { kind } of client.follow(job_id)) if (kind === 'stdout') break;
  return job_id;
}

describe('one process', { tags: ['OPER-04'] }, () => {
  const older = () => join(scratch, 'older');
  let issuer: Awaited<ReturnType<typeof openTokenIssuer>>;
  let command: Command;
  let url: string;
  beforeAll(async () => {
    issuer = await openTokenIssuer();
    const { settings } = issuer;
    mkdirSync(older());
    writeFileSync(join(older(), 'node'), '#!/bin/sh\necho v18.0.0; exit 1\n', { mode: 0o755 });
    const flags = ['--port', '0', '--provider', 'subprocess', '--data-dir', freshDirectory()];
    command = new Command(['serve', ...flags], {
      env: {
        ...settingsFor('/nowhere'),
        PATH: `${older()}:${process.env['PATH']}`,
        SERVICE_PORT: '1',
        SERVICE_LOG_LEVEL: 'info',
        // No cell is parked: a parked cell would be another process.
        SERVICE_PARKED_MB_MAX: '0',
        SERVICE_JWT_ISSUER: settings['jwt-issuer'] ?? '',
        SERVICE_JWT_AUDIENCE: settings['jwt-audience'] ?? '',
        SERVICE_JWT_JWKS: settings['jwt-jwks'] ?? '',
      },
    });
    [, url = ''] = await command.shows(/listening on (\S+)/);
  });
  afterAll(async () => {
    await command[Symbol.asyncDispose]();
    issuer[Symbol.dispose]();
  });
  const client = () => createServiceClient({ baseUrl: url, apiKey: 'key-of-alpha' });

  test('accepts each setting as a flag, and a flag wins over the environment', async () => {
    expect((await client().capabilities()).isolation_class).toBe('none');
  });

  test('ignores SIGUSR1 and SIGUSR2, and does not open Node’s inspector', async () => {
    for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) {
      command.kill(signal);
      expect((await client().health()).status).toBe('ok');
    }
    expect(command.stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'))).toEqual([]);
  });

  test('reads the token issuer’s keys again on SIGHUP, and keeps the earlier keys if it cannot read the new ones', async () => {
    const headers = { authorization: `Bearer ${await issuer.token()}` };
    const answered = async () => (await fetch(`${url}/v1/whoami`, { headers })).status;
    expect(await answered()).toBe(200);
    issuer.withdraw();
    expect(await answered()).toBe(200);
    command.kill('SIGHUP');
    await expect.poll(answered, soon).toBe(401);
    await expect.poll(() => command.stderr, soon).toContain('"msg":"reloaded"');
    writeFileSync(issuer.settings['jwt-jwks'] ?? '', 'no JSON');
    command.kill('SIGHUP');
    await expect.poll(() => command.stderr, soon).toContain('a reload failed: the earlier keys are still used');
    expect((await client().health()).status).toBe('ok');
  });

  test('runs as the started process itself, without a child, on the pinned Node', async () => {
    expect(realpathSync(`/proc/${command.pid}/exe`)).toBe(realpathSync(process.execPath));
    expect(readFileSync(`/proc/${command.pid}/task/${command.pid}/children`, 'utf8')).toBe('');
    command.kill('SIGKILL');
    expect((await command.ended()).signal).toBe('SIGKILL');
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  });
});

describe('a request to stop', () => {
  slowTest('SIGTERM lets jobs run for the drain time, records the jobs that it ends, and exits with 0', async () => {
    const dataDir = freshDirectory();
    const { command, url, client } = await serving(dataDir);
    await using _command = command;
    expect((await client.readiness()).status).toBe('ready');
    const job_id = await startedJob(client);
    command.kill('SIGTERM');
    expect(await command.ended()).toMatchObject({ code: 0, stdout: `listening on ${url}\n`, stderr: '' });
    expect(leftoversOf(dataDir)).toEqual([]);

    await nextService(dataDir, async (next) => {
      const detail = await next.detail(job_id);
      expect(detail).toMatchObject({ status: 'error', terminal_reason: 'server_shutdown', backend: 'namespace' });
      expect((await next.result(job_id)).stdout).toBe('started\n');
    });
  });

  slowTest('SIGINT exits with 0', async () => {
    const dataDir = freshDirectory();
    const { command } = await serving(dataDir);
    await using _command = command;
    command.kill('SIGINT');
    expect(await command.ended()).toMatchObject({ code: 0, stderr: '' });
    expect(leftoversOf(dataDir)).toEqual([]);
  });

  test('the end of its terminal stops the service as SIGTERM does', async () => {
    const dataDir = freshDirectory();
    const terminal = ['sh', '-c', 'exec script -qefc "$*" /dev/null', 'sh'];
    const { command, client } = await serving(dataDir, {}, terminal);
    const job_id = await startedJob(client);
    command.kill('SIGKILL');
    await command.ended();
    await expect.poll(() => leftoversOf(dataDir), soon).toEqual([]);
    await nextService(dataDir, async (next) =>
      expect((await next.detail(job_id)).terminal_reason).toBe('server_shutdown'),
    );
  });

  slowTest(
    'a second SIGINT ends the service at once, without waiting for its jobs',
    { tags: ['OPER-04'] },
    async () => {
      const { command, client } = await serving(freshDirectory(), { SERVICE_DRAIN_SECONDS: '300' });
      await using _command = command;
      await startedJob(client);
      command.kill('SIGINT');
      await expect.poll(async () => (await client.readiness()).status, soon).toBe('unready');
      command.kill('SIGINT');
      expect((await command.ended()).code).toBe(130);
    },
  );
});

test("two services with the same data path in different mount namespaces do not touch each other's jobs", {
  tags: ['OPER-01'],
}, async () => {
  const [dataDir, other] = [freshDirectory(), freshDirectory()];
  for (const directory of [dataDir, other]) mkdirSync(directory, { mode: 0o700 });
  const first = await serving(dataDir, { SERVICE_CONCURRENCY: '2' });
  await using _first = first.command;
  const job_id = await startedJob(first.client);

  const elsewhere = 'mount --bind "$1" "$2" && shift 2 && exec "$@"';
  const within = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', elsewhere, 'sh', other, dataDir];
  const second = await serving(dataDir, {}, within);
  await using _second = second.command;
  const echo = { language: 'bash', code: 'echo ran' };
  const ran = async ({ client }: typeof first) =>
    (await client.waitForResult((await client.submit(echo)).job_id)).stdout;
  expect(await ran(second)).toBe('ran\n');
  expect((await first.client.detail(job_id)).status).toBe('running');
  second.command.kill('SIGTERM');
  expect((await second.command.ended()).code).toBe(0);
  expect((await first.client.detail(job_id)).status).toBe('running');
  expect(await ran(first)).toBe('ran\n');
  expect((await first.client.readiness()).status).toBe('ready');
});

slowTest(
  'a service makes its files inaccessible to other users even if its umask is 0',
  {
    tags: ['OPER-02'],
  },
  async () => {
    const dataDir = freshDirectory();
    const { command, client } = await serving(dataDir, {}, ['sh', '-c', 'umask 0; exec "$@"', 'sh']);
    await using _command = command;
    await client.waitForResult((await client.submit({ language: 'bash', code: 'echo ran' })).job_id);
    const modes = readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).map((name) => {
      const facts = statSync(join(dataDir, name));
      return [name, facts.mode & 0o077];
    });
    expect(modes.length).toBeGreaterThan(6);
    expect(modes.filter(([, rights]) => rights !== 0)).toEqual([]);
  },
);

test('after a crash, running jobs end as errors, queued jobs run, and no cell of the old service is left', {
  tags: ['What-3a', 'Receipt-19', 'States-2', 'RST-03'],
}, async () => {
  const dataDir = freshDirectory();
  const first = await serving(dataDir);
  await using _first = first.command;
  const running = await startedJob(first.client);
  const queued = await first.client.submit({ language: 'bash', code: 'echo later' });
  first.command.kill('SIGKILL');
  await first.command.ended();

  // The second service announces itself on the host, and removes the killed service's announcement.
  const second = await serving(dataDir);
  await using _second = second.command;
  const detail = await second.client.detail(running);
  expect(detail).toMatchObject({
    status: 'error',
    terminal_reason: 'server_restarted',
    effective_spec: null,
    networking: null,
  });
  expect(Object.keys(detail.receipt ?? {}).sort()).toEqual(
    [
      'created_at',
      'duration_ms',
      'event_chain',
      'exit_code',
      'finished_at',
      'job_id',
      'receipt_sha256',
      'schema_version',
      'signal',
      'started_at',
      'status',
      'tenant',
      'terminal_reason',
    ].sort(),
  );
  expect(detail.receipt?.event_chain.complete).toBe(true);
  const later = await second.client.waitForResult(queued.job_id);
  expect(later).toMatchObject({ status: 'succeeded', stdout: 'later\n' });
  const sleeping = leftoversOf(dataDir).filter((line) => line.includes('sleep'));
  expect(sleeping).toEqual([]);
  second.command.kill('SIGTERM');
  expect((await second.command.ended()).code).toBe(0);
  expect(leftoversOf(dataDir)).toEqual([]);
});

test('a service without its runtime refuses jobs with 503, and runs the accepted jobs when the runtime is back', {
  tags: ['Endpoints-4', 'Submit-6d', 'Errors-20'],
}, async () => {
  const ownMounts = ['unshare', '--mount', '--propagation', 'private'];
  // crun is started for each cell, so without crun there are no cells.
  const environment = { SERVICE_NAMESPACE_LAUNCHER: 'crun' };
  const { command, client, url } = await serving(freshDirectory(), environment, ownMounts);
  await using _command = command;
  const crun = execFileSync('sh', ['-c', 'command -v crun'], { encoding: 'utf8' }).trim();
  const inside = (...words: string[]) =>
    execFileSync('nsenter', ['--mount', '--target', String(command.pid), ...words]);
  const readiness = async () => {
    const answer = await fetch(`${url}/readyz`);
    const { checks } = (await answer.json()) as { checks: { provider: boolean } };
    return [answer.status, checks.provider, (await client.status()).provider.ready];
  };
  const bash = { language: 'bash', code: 'echo ran' } as const;
  expect(await readiness()).toEqual([200, true, true]);
  inside('mount', '--bind', '/dev/null', crun);
  const taken = await client.submit(bash);
  await expect.poll(readiness, soon).toEqual([503, false, false]);
  const refused = await fetch(`${url}/v1/jobs`, {
    method: 'POST',
    headers: { authorization: 'Bearer key-of-alpha', 'content-type': 'application/json' },
    body: JSON.stringify(bash),
  });
  const { error } = (await refused.json()) as { error: { code: string; retryable: boolean } };
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
  expect(error).toMatchObject({ code: 'worker_unavailable', retryable: true });
  expect((await client.detail(taken.job_id)).status).toBe('queued');
  expect((await client.health()).status).toBe('ok');
  inside('umount', crun);
  // Even without a new job, the service notices that the runtime is back.
  await expect.poll(readiness, soon).toEqual([200, true, true]);
  const events = await Array.fromAsync(client.follow(taken.job_id), ({ kind }) => kind);
  expect(events).toEqual(['queued', 'started', 'stdout', 'finished']);
});

slowTest(
  'a queued job that needs more than the restarted service allows ends with status error, and claims nothing about a cell',
  {
    tags: ['Detail-11', 'Detail-12', 'Receipt-10', 'States-1f'],
  },
  async () => {
    const dataDir = freshDirectory();
    const first = await serving(dataDir);
    await using _first = first.command;
    await startedJob(first.client);
    const { job_id } = await first.client.submit({ language: 'bash', code: 'echo ran', limits: { mem_mb: 256 } });
    first.command.kill('SIGTERM');
    await first.command.ended();

    const check = async (next: typeof first.client) => {
      await next.waitForResult(job_id);
      const detail = await next.detail(job_id);
      const noLimits = { wall_seconds: null, cpu_seconds: null, mem_mb: null, max_pids: null, max_file_mb: null };
      const claims = { networking: null, network_allowed: null, private_rootfs: false, dedicated_bootstrap: false };
      expect(detail).toMatchObject({
        status: 'error',
        terminal_reason: 'bootstrap_failed',
        exit_code: null,
        started_at: null,
        bootstrap_ready: false,
        effective_spec: { isolation_class: null, limits: noLimits },
        seccomp: null,
        ...claims,
      });
      expect(detail.receipt).toMatchObject({ bootstrap_ready: false, isolation_class: null, ...claims });
      expect(Object.values(detail.limit_enforcement ?? {})).toEqual([false, false, false, false, false]);
      const events = await Array.fromAsync(next.events(job_id), ({ kind }) => kind);
      expect(events).toEqual(['queued', 'violation', 'finished']);
    };
    await nextService(dataDir, check, { 'concurrent-mem-mb-max': '128' });
  },
);

describe('a failed start prints one clear line and exits with 1', () => {
  async function expectLine(env: Record<string, string>, line: RegExp, within: string[] = []): Promise<void> {
    const { code, stdout, stderr } = await vouchbox(['serve'], { env, within });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(line);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  }

  test('a port that is in use', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const port = String((other.address() as AddressInfo).port);
    const env = { ...settingsFor(freshDirectory()), SERVICE_PORT: port, SERVICE_PROVIDER: 'subprocess' };
    await expectLine(env, new RegExp(`^vouchbox: .*${port}.*in use`));
    other.close();
  });

  test('a data directory that is a file', async () => {
    const file = freshDirectory();
    writeFileSync(file, '');
    await expectLine(settingsFor(file), /^vouchbox: the data directory .* cannot be used/);
  });

  test('a data directory that others may change', { tags: ['OPER-02'] }, async () => {
    const dataDir = freshDirectory();
    mkdirSync(dataDir);
    chmodSync(dataDir, 0o777);
    await expectLine(settingsFor(dataDir), /^vouchbox: the data directory .* is open to other users .*; chmod go-w /);
    expect(readdirSync(dataDir)).toEqual([]);
    const elsewhere = { ...settingsFor(freshDirectory()), SERVICE_DATABASE_URL: `sqlite:${dataDir}/svc.db` };
    await expectLine(elsewhere, /^vouchbox: the directory of the store .* is open to other users .*; chmod go-w /);
    expect(readdirSync(dataDir)).toEqual([]);
  });

  test('a malformed store', async () => {
    const file = freshDirectory();
    writeFileSync(file, 'this is not a database, and it is longer than a header of one '.repeat(10));
    await expectLine({ ...settingsFor(freshDirectory()), SERVICE_DATABASE_URL: `sqlite:${file}` }, /^vouchbox: /);
  });

  slowTest('a store that another service holds', async () => {
    const dataDir = freshDirectory();
    const { command } = await serving(dataDir, { SERVICE_PROVIDER: 'subprocess' });
    await using _command = command;
    await expectLine({ ...settingsFor(dataDir), SERVICE_PROVIDER: 'subprocess' }, /^vouchbox: /);
  });

  test('a /run/svc that cannot be written, with advice', async () => {
    const within = ['unshare', '-m', 'sh', '-c', 'mount -t tmpfs -o ro tmpfs /run/svc && exec "$@"', 'sh'];
    await expectLine(settingsFor(freshDirectory()), /^vouchbox: \/run\/svc cannot be written: EROFS; make /, within);
  });

  test('an unknown or wrong setting', async () => {
    await expectLine({ SERVICE_PROT: '1' }, /^vouchbox: SERVICE_PROT is not a setting/);
    await expectLine({ SERVICE_PORT: 'http' }, /^vouchbox: SERVICE_PORT does not take "http"/);
  });

  test('a missing runtime, with advice', async () => {
    const hide = 'mount --bind /dev/null "$(command -v crun)" && exec "$@"';
    const within = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', hide, 'sh'];
    const settings = { ...settingsFor(freshDirectory()), SERVICE_NAMESPACE_LAUNCHER: 'crun' };
    await expectLine(settings, /^vouchbox: .*namespace.*vouchbox doctor/, within);
  });

  slowTest('a host on which nothing can isolate programs, with three remedies', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'svc-serve-nobody-'));
    chownSync(dataDir, 65534, 65534);
    // An ordinary user needs only user namespaces. Here the kernel seems to allow none.
    const refusal = join(dataDir, 'refusal');
    writeFileSync(refusal, '0\n');
    const become = 'exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"';
    const hide = `mount --bind ${refusal} /proc/sys/user/max_user_namespaces && ${become}`;
    const within = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', hide, 'sh'];
    const ways =
      /^vouchbox: no cells can be made here: gvisor, namespace: this user lacks .* on Linux as root.* in a container.* SERVICE_PROVIDER=subprocess/;
    await expectLine({ ...settingsFor(dataDir), SERVICE_PROVIDER: 'auto' }, ways, within);
    rmSync(dataDir, { recursive: true });
  });

  test('an unknown flag, with exit code 2', async () => {
    expect((await vouchbox(['serve', '--prot', '1'])).code).toBe(2);
  });
});
