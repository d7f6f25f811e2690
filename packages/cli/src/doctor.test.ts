import { spawnSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DoctorReport } from '@vouchbox/server';
import { expect, onTestFinished, test } from 'vitest';

const SVC = fileURLToPath(new URL('../bin/vouchbox', import.meta.url));
const NOBODY = 65534;

/** Writes the word `$1` to a temporary file `$3`, mounts that file over the host's file `$2`, and runs the remaining words. */
const HIDE = 'echo "$1" > "$3"; mount --bind "$3" "$2"; rm "$3"; shift 3; exec "$@"';

interface Host {
  readonly namespaces: boolean;
  readonly env?: Record<string, string>;
}

const doctor = (host: Host, ...args: string[]) => asUser(host, 'doctor', ...args);

/** Runs a command as an ordinary user, on a host where either every user or no user may make user namespaces. */
function asUser({ namespaces, env = {} }: Host, ...args: string[]) {
  const hide = join(tmpdir(), `svc-doctor-test-${process.pid}`);
  const setting = '/proc/sys/user/max_user_namespaces';
  const within = namespaces ? [] : ['unshare', '--mount', 'sh', '-ec', HIDE, 'sh', '0', setting, hide];
  const user = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];
  const [command = '', ...words] = [...within, ...user, SVC, ...args];
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-doctor-data-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true }));
  chownSync(dataDir, NOBODY, NOBODY);
  const settings = { PATH: process.env['PATH'], SERVICE_DATA_DIR: dataDir, ...env };
  return spawnSync(command, words, { encoding: 'utf8', env: settings, cwd: '/tmp' });
}

test('if the host cannot isolate programs, the doctor exits with 1 and says what to do', () => {
  const { status, stdout, stderr } = doctor({ namespaces: false });
  expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
  expect(stdout).toMatch(/^fail {2}this process is root, .*: user 65534 lacks .*\n {6}→ .*run it as root\n/);
  expect(stdout).toContain('no program can be isolated on this host');
});

test('the doctor’s JSON is one document with every finding', () => {
  const { status, stdout } = doctor({ namespaces: false }, '--json');
  const report = JSON.parse(stdout) as DoctorReport;
  expect(status).toBe(1);
  expect(report).toMatchObject({ usable: null, host_posture: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) } });
  expect(report.checks.find(({ id }) => id === 'namespace.cells')).toMatchObject({ result: 'not_tried' });
  const controls = report.checks.filter(({ id }) => /^(kernel|cgroup)\./.test(id));
  expect(new Set(controls.map(({ result, observed }) => `${result}: ${observed}`))).toEqual(
    new Set(['not_tried: needs host.root']),
  );
});

test('vouchbox setup tells an ordinary user which commands root must run', () => {
  const { status, stdout, stderr } = asUser({ namespaces: false }, 'setup');
  expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
  const lacks = stderr.match(/^vouchbox: to start cells, this user lacks .*$/gm) ?? [];
  const [namespaces, users] = [
    expect.stringMatching(/user namespaces .*: as root: sysctl -w user\.max_user_namespaces=15000$/),
    expect.stringMatching(/(newuidmap|subordinate users) .*: as root: (apt-get install uidmap|usermod .*)$/),
  ];
  expect(lacks).toEqual(expect.arrayContaining([namespaces, users]));
});

test('an ordinary user who has only user namespaces is told which protections are missing, and how to get them', () => {
  const { status, stdout, stderr } = doctor({ namespaces: true });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(/^warn {2}this process is root, .*: user 65534 of the host, who is every program as well\n/);
  expect(stdout).toMatch(/^warn {2}control groups .* memory is watched, not held\n {6}→ .*systemd-run --user/m);
  expect(stdout).toContain('programs are isolated by namespace, the strongest provider that works here');
});

test('vouchbox mcp config says what the user lacks to start cells', () => {
  const { status, stderr } = asUser({ namespaces: false }, 'mcp', 'config', 'claude');
  expect(status).toBe(0);
  expect(stderr).toMatch(
    /^vouchbox: no service is named: .* starts cells itself, and you lack user namespaces .*sysctl/m,
  );
  const able = asUser({ namespaces: true }, 'mcp', 'config', 'claude');
  expect(able.status).toBe(0);
  expect(able.stderr).toContain('as another user than you');
  expect(able.stderr).not.toContain('you lack');
});

test('the doctor finds that the launcher isolates programs even without crun, runsc and a loopback device', () => {
  const hide = 'for name in crun runsc; do mount --bind /dev/null "$(command -v $name)"; done; exec "$@"';
  const words = [
    '--mount',
    '--net',
    'sh',
    '-ec',
    hide,
    'sh',
    SVC,
    'doctor',
    '--json',
    '--data-dir',
    '/tmp/svc-doctor-without-runtimes',
  ];
  const { stdout, stderr } = spawnSync('unshare', words, { encoding: 'utf8' });
  expect(stderr).toBe('');
  const { usable, checks } = JSON.parse(stdout) as DoctorReport;
  const resultOf = (name: string) => checks.find(({ id }) => id === name)?.result;
  const ids = ['host.loopback', 'runtime.crun', 'runtime.runsc', 'gvisor.cells', 'namespace.cells', 'namespace.python'];
  expect(ids.map(resultOf)).toEqual(['warn', 'fail', 'fail', 'not_tried', 'pass', 'pass']);
  expect(usable).toBe('namespace');
});

test('on a node that runs no programs, the doctor tries no cells and needs no rights', () => {
  const { status, stdout } = doctor(
    { namespaces: false, env: { SERVICE_ROLES: 'api,signer', SERVICE_FREE_SPACE_RESERVE_MB: '0' } },
    '--json',
  );
  const { makes_cells, usable, checks } = JSON.parse(stdout) as DoctorReport;
  expect({ status, makes_cells, usable }).toEqual({ status: 0, makes_cells: false, usable: null });
  const tried = checks.filter(({ result }) => result !== 'not_tried').map(({ id }) => id);
  expect(tried).toEqual(['host.kernel', 'host.node', 'host.free_space']);
  const left = checks.filter(({ id }) => !tried.includes(id));
  expect(new Set(left.map(({ observed }) => observed))).toEqual(new Set(['not needed: this node runs no programs']));
});

test('the doctor reports a missing temporary directory in one line, before it tries anything', () => {
  const { status, stdout, stderr } = doctor({ namespaces: true, env: { TMPDIR: '/nonexistent' } });
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(/^vouchbox: nothing can be stored in \/nonexistent, which TMPDIR names: .*\n$/);
});

test('the doctor reports a wrong setting in one line, before it tries anything', () => {
  const { status, stdout, stderr } = doctor({ namespaces: true, env: { SERVICE_PORT: 'eighty' } });
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(/^vouchbox: SERVICE_PORT does not take "eighty".*\n$/);
});
