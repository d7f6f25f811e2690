import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openGroupRoot, readCgroupLayout } from '../../kernel/cgroup/layout.ts';
import { instanceName } from '../../kernel/host/run-directory.ts';
import { parseStatus } from '../../kernel/process-status.ts';
import { openGvisorCellsOn } from '../open-cells.ts';
import type { GvisorStarter } from './runsc.ts';

const NAMESPACES = ['ipc', 'mnt', 'net', 'pid', 'user', 'uts'] as const;
const CAPABILITIES = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'] as const;
/** Files in the cell's own root: process 1, and the filter that it has read. */
const OF_THE_CELL = ['init', 'filter'];
const ROLES = ['kernel', 'gofer'] as const;

/** The rights of one of gVisor's own processes on the host, as the host's kernel states them. */
interface Seen {
  readonly user: readonly string[];
  readonly groups: string | undefined;
  readonly noNewPrivileges: string | undefined;
  readonly seccomp: string | undefined;
  readonly capabilities: Readonly<Record<(typeof CAPABILITIES)[number], bigint>>;
  /** Namespaces that are not the host's. */
  readonly own: readonly string[];
  readonly mounts: number;
  readonly root: readonly string[];
  /** Names of the files that it has open. */
  readonly open: readonly string[];
  readonly environment: readonly string[];
  readonly score: string;
}

const sight = {} as Record<GvisorStarter, Record<(typeof ROLES)[number], Seen>>;
const directory = mkdtempSync(join(tmpdir(), 'svc-sentry-test-'));

beforeAll(async () => {
  for (const starter of ['direct', 'runsc'] as const) sight[starter] = await lookInto(starter);
});
afterAll(() => rmSync(directory, { recursive: true }));

describe.for(ROLES)('the %s of a gVisor cell that svc-sentry started', (role) => {
  const [direct, run] = [() => sight.direct[role], () => sight.runsc[role]];

  test('runs as a user that only this cell has, in no group of the host', () => {
    expect(direct().user).toEqual([expect.stringMatching(/^(18|19|20|21)\d{8}$/)]);
    expect(direct().groups).toBe('');
  });

  test('has its own namespace of every kind that runsc separates', () => {
    expect(direct().own).toEqual(run().own);
    expect(direct().own).toContain('user');
  });

  test('has only capabilities that it would also have under runsc alone', () => {
    for (const set of CAPABILITIES) expect(direct().capabilities[set] & ~run().capabilities[set]).toBe(0n);
    expect(direct().capabilities.CapBnd).toBe(direct().capabilities.CapEff);
    expect([direct().capabilities.CapInh, direct().capabilities.CapAmb]).toEqual([0n, 0n]);
  });

  test('has a system call filter and can gain no privilege', () => {
    expect([direct().seccomp, direct().noNewPrivileges]).toEqual(['2', '1']);
    expect(run().seccomp).toBe('2');
  });

  test('sees only files of the host that it would also see under runsc alone', () => {
    expect(direct().root.filter((name) => !run().root.includes(name))).toEqual([]);
    expect(direct().mounts).toBeLessThanOrEqual(run().mounts);
    const others = direct().open.filter((name) => !run().open.includes(name));
    expect(others.filter((name) => !OF_THE_CELL.includes(name))).toEqual([]);
  });

  test('has an empty environment, and is the first to be killed if the host runs out of memory', () => {
    expect(direct().environment).toEqual([]);
    expect(direct().score).toBe('1000');
  });
});

async function lookInto(starter: GvisorStarter): Promise<Record<(typeof ROLES)[number], Seen>> {
  const instance = join(directory, starter);
  const options = {
    choice: 'gvisor',
    instance,
    packsDirectory: null,
    workBytes: 2 ** 20,
    hostPostureSha256: null,
  } as const;
  await using cells = await openGvisorCellsOn(options, { platform: 'systrap', starter });
  await using _ = await cells.prepare({ language: 'bash', runtime: null });
  const groups = openGroupRoot(readCgroupLayout(), instanceName(instance));
  const members = groups.names().flatMap((name) => groups.open(name).members());
  const pidOf = (name: string) => members.find((pid) => commandOf(pid) === name) as number;
  return { kernel: see(pidOf('runsc-sandbox')), gofer: see(pidOf('runsc-gofer')) };
}

function see(pid: number): Seen {
  const at = (name: string) => `/proc/${pid}/${name}`;
  const status = parseStatus(readFileSync(at('status'), 'utf8'));
  const capabilities = CAPABILITIES.map((set) => [set, BigInt(`0x${status.get(set)}`)]);
  const open = readdirSync(at('fd')).map((name) => readlinkSync(at(`fd/${name}`)));
  return {
    user: [...new Set((status.get('Uid') ?? '').split(/\s+/))],
    groups: status.get('Groups')?.trim(),
    noNewPrivileges: status.get('NoNewPrivs'),
    seccomp: status.get('Seccomp'),
    capabilities: Object.fromEntries(capabilities) as Seen['capabilities'],
    own: NAMESPACES.filter((name) => readlinkSync(at(`ns/${name}`)) !== readlinkSync(`/proc/self/ns/${name}`)),
    mounts: readFileSync(at('mountinfo'), 'utf8').trim().split('\n').length,
    root: readdirSync(at('root')),
    open: open.filter((path) => path.startsWith('/')).map((path) => basename(path)),
    environment: readFileSync(at('environ'), 'utf8').split('\0').filter(Boolean),
    score: readFileSync(at('oom_score_adj'), 'utf8').trim(),
  };
}

function commandOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0] ?? '';
}
