/**
 * Everything about this host that isolation depends on, in one canonical document. A service computes its digest at the start and
 * writes the digest into every receipt as `host_posture_sha256`. `vouchbox doctor --json` prints the document and the same
 * digest, so that an auditor with access to the host can tell whether the host is still as it was. Spec § Receipt.
 *
 * The document contains only what stays the same until the host changes: versions and digests of the runtimes, settings of the
 * kernel, and the result of trying each of the kernel's controls. It has no times, ids, free space, load or directories, and
 * nothing about a job or a tenant.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { machine, release } from 'node:os';
import { join } from 'node:path';
import { canonicalJson, sha256Hex } from '@vouchbox/evidence';
import type { Runtime } from '../../cell/runtime.ts';
import { runscRuntime } from '../../classes/gvisor/runsc.ts';
import { crunRuntime } from '../../classes/namespace/crun.ts';
import { readCgroupLayout } from '../../kernel/cgroup/layout.ts';
import { digestOf } from '../../kernel/host/executable.ts';
import { instanceName } from '../../kernel/host/run-directory.ts';
import { CgroupTrials } from './cgroup-trials.ts';
import type { Check, CheckResult } from './finding.ts';
import { kernelTrials } from './kernel-trials.ts';
import { Probes } from './probe.ts';
import { Checks } from './trial.ts';

export const HOST_POSTURE_SCHEMA = 'svc.host-posture.v1';

/** The document that is digested. A member is null if this host does not report the value. */
export interface HostFindings {
  readonly schema: typeof HOST_POSTURE_SCHEMA;
  readonly kernel: { readonly release: string; readonly machine: string };
  readonly node: string;
  readonly cgroup: string | null;
  /** The result of every check of the kernel and of its control groups, by id, as `vouchbox doctor` lists them. */
  readonly controls: Readonly<Record<string, CheckResult>>;
  /** The kernel's report on each known weakness of the processor: /sys/devices/system/cpu/vulnerabilities. */
  readonly vulnerabilities: Readonly<Record<string, string>>;
  /** Kernel settings that decide who may do what: /proc/sys. */
  readonly settings: Readonly<Record<string, string | null>>;
  /** The installed runtimes, whether or not they are used. */
  readonly runtimes: Readonly<Record<string, RuntimeFinding | null>>;
}

export interface RuntimeFinding {
  readonly version: string | null;
  /** SHA-256 of the executable. */
  readonly sha256: string;
}

export interface HostPosture {
  readonly findings: HostFindings;
  /** SHA-256 of the canonical JSON (RFC 8785) of `findings`. */
  readonly sha256: string;
}

const VULNERABILITIES = '/sys/devices/system/cpu/vulnerabilities';
const SETTINGS = [
  'kernel/apparmor_restrict_unprivileged_userns',
  'kernel/kptr_restrict',
  'kernel/seccomp/actions_avail',
  'kernel/unprivileged_bpf_disabled',
  'kernel/unprivileged_userns_clone',
  'kernel/yama/ptrace_scope',
  'vm/overcommit_memory',
];

/** Tries the kernel's controls and reads the other facts. `instance` only names the group in which the controls are tried. */
export async function hostPosture(instance: string): Promise<HostPosture> {
  const kernel = new Checks();
  const cgroup = new Checks();
  using probes = new Probes();
  await using groups = new CgroupTrials(instanceName(`${instance}#posture`), probes);
  await Promise.all([kernel.runTogether(kernelTrials(probes)), cgroup.run(groups.all)]);
  return postureOf([...kernel.all, ...cgroup.all]);
}

/** The posture of a host whose controls were already tried. Other checks are ignored. */
export async function postureOf(checks: readonly Check[]): Promise<HostPosture> {
  const findings: HostFindings = {
    schema: HOST_POSTURE_SCHEMA,
    kernel: { release: release(), machine: machine() },
    node: process.version,
    cgroup: cgroupVersion(),
    controls: Object.fromEntries(checks.filter(({ id }) => isControl(id)).map(({ id, result }) => [id, result])),
    vulnerabilities: readVulnerabilities(),
    settings: Object.fromEntries(SETTINGS.map((name) => [name, readLine(join('/proc/sys', name))])),
    runtimes: {
      crun: await foundRuntime(crunRuntime),
      runsc: await foundRuntime(() => runscRuntime({ platform: 'ptrace', starter: 'runsc' })),
    },
  };
  return { findings, sha256: sha256Hex(canonicalJson(findings)) };
}

/** Whether only root, or root of a user namespace, can try this. For others a failure would say nothing about the host. */
export function isControl(id: string): boolean {
  return /^(kernel|cgroup)\./.test(id);
}

async function foundRuntime(find: () => Promise<Runtime>): Promise<RuntimeFinding | null> {
  try {
    const { path, identity } = await find();
    return { version: identity.version, sha256: digestOf(path) };
  } catch {
    return null; // The runtime is missing or not used: the doctor's checks say which of the two.
  }
}

function cgroupVersion(): string | null {
  try {
    return readCgroupLayout().version;
  } catch {
    return null; // Without /proc, this host is not Linux.
  }
}

function readVulnerabilities(): Record<string, string> {
  if (!existsSync(VULNERABILITIES)) return {};
  const names = readdirSync(VULNERABILITIES);
  return Object.fromEntries(names.map((name) => [name, readLine(join(VULNERABILITIES, name)) ?? 'unreadable']));
}

function readLine(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}
