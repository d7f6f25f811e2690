/** The doctor on this very host, where it tries everything for real. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { instanceName } from '../../kernel/host/run-directory.ts';
import { runDoctor } from './doctor.ts';
import type { Check } from './finding.ts';
import { hostPosture } from './host-posture.ts';
import type { DoctorReport } from './report.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-doctor-test-'));
const dataDirectory = join(directory, 'data');
const told: Check[] = [];
let report: DoctorReport;

beforeAll(async () => {
  report = await runDoctor({
    makesCells: true,
    dataDirectory,
    packsDirectory: join(dataDirectory, 'packs'),
    workBytes: 2 ** 24,
    isReserveFree: async () => false,
    onCheck: (check) => told.push(check),
  });
});

afterAll(() => rmSync(directory, { recursive: true }));

describe('the doctor', () => {
  it('tries each control once and reports it immediately', () => {
    expect(report.checks).toEqual(told);
    expect(new Set(report.checks.map(({ id }) => id)).size).toBe(report.checks.length);
  });

  it.each([
    'host.root',
    'host.node',
    'host.perl',
    'host.natives',
    'host.loopback',
    ...['user', 'mount', 'pid', 'network', 'ipc', 'uts', 'cgroup'].map((kind) => `kernel.namespace.${kind}`),
    'kernel.mounts',
    'kernel.overlay',
    'kernel.network',
    'kernel.seccomp',
    'kernel.no_new_privileges',
    ...['layout', 'delegation', 'limits', 'memory', 'pids', 'cpu', 'kill'].map((name) => `cgroup.${name}`),
    'runtime.crun',
    ...['cells', 'python', 'node', 'bash', 'typescript', 'tools'].map((name) => `namespace.${name}`),
    ...['cells', 'python', 'node', 'bash', 'typescript'].map((name) => `gvisor.${name}`),
  ])('finds that %s works on the host of this test', (id) => {
    expect(report.checks.find((check) => check.id === id)).toMatchObject({ result: 'pass', fix: null });
  });

  it('tries each platform of gVisor, and finds one that works', () => {
    const platforms = report.checks.filter(({ id }) => id.startsWith('gvisor.platform.'));
    expect(platforms).toHaveLength(3);
    expect(platforms.map(({ result }) => result)).toContain('pass');
  });

  it('says how to fix every control that fails', () => {
    const imperfect = report.checks.filter(({ result }) => result === 'warn' || result === 'fail');
    expect(imperfect.filter(({ fix }) => fix === null)).toEqual([]);
    expect(imperfect.map(({ id }) => id)).toContain('host.free_space');
  });

  it('names the strongest provider that ran a program, with the languages it ran', () => {
    expect(report.usable).toBe('gvisor');
    expect(report.providers).toEqual([
      { provider: 'gvisor', usable: true, languages: ['python', 'node', 'bash', 'typescript'] },
      { provider: 'namespace', usable: true, languages: ['python', 'node', 'bash', 'typescript'] },
    ]);
  });

  it('shows the same posture that a service on this host writes into receipts', async () => {
    expect(report.host_posture).toEqual(await hostPosture(join(directory, 'another')));
  });

  it('leaves no group, no directory and no mount behind, and makes no data directory', () => {
    const parts = ['doctor', 'doctor-gvisor', 'doctor-namespace', 'posture'];
    const platforms = ['systrap', 'kvm', 'ptrace'].map((platform) => `doctor-gvisor#${platform}`);
    const instances = [...parts, ...platforms].map((part) => instanceName(`${dataDirectory}#${part}`));
    const places = ['/run/svc', '/sys/fs/cgroup', '/sys/fs/cgroup/memory', '/sys/fs/cgroup/pids'];
    const found = places.filter((place) => existsSync(place)).flatMap((place) => readdirSync(place));
    expect(found.filter((name) => instances.includes(name))).toEqual([]);
    expect(readdirSync(directory)).toEqual([]);
  });
});
