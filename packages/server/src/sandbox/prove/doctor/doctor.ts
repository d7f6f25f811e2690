/**
 * Tries every control of this host, one at a time, and leaves nothing behind. The doctor only returns data: the command line
 * prints it and chooses the exit code.
 */

import type { PreflightOptions } from '../../classes/candidate.ts';
import { openGvisorCells, openNamespaceCells } from '../../classes/open-cells.ts';
import { instanceName } from '../../kernel/host/run-directory.ts';
import { hasOneUser } from '../../kernel/user-namespace/mapped-users.ts';
import { tryCells } from './cell-trials.ts';
import { CgroupTrials, needsGroups } from './cgroup-trials.ts';
import type { Check } from './finding.ts';
import { isControl, postureOf } from './host-posture.ts';
import { type HostTrialOptions, hostTrials } from './host-trials.ts';
import { kernelTrials } from './kernel-trials.ts';
import { Probes } from './probe.ts';
import type { DoctorReport, ProviderFinding } from './report.ts';
import { runtimeTrials, tryPlatforms } from './runtime-trials.ts';
import { Checks } from './trial.ts';

export interface DoctorOptions extends HostTrialOptions, Pick<PreflightOptions, 'packsDirectory' | 'workBytes'> {
  /** Whether the service runs programs. If it does not, nothing that cells need is tried. */
  readonly makesCells: boolean;
  /** Called with each check as soon as it is made. */
  readonly onCheck?: (check: Check) => void;
}

/** The checks that even a node without programs needs. */
const NEEDED_ANYWAY: ReadonlySet<string> = new Set(['host.kernel', 'host.node', 'host.free_space']);
const NO_PROGRAMS = 'not needed: this node runs no programs';

/** Tries this host. A running service with the same data directory is not disturbed, but a second doctor would be. */
export async function runDoctor(options: DoctorOptions): Promise<DoctorReport> {
  const { makesCells } = options;
  const checks: Checks = new Checks(options.onCheck, (id) => {
    if (!makesCells) return NEEDED_ANYWAY.has(id) ? null : NO_PROGRAMS;
    return isControl(id) && process.geteuid?.() !== 0 ? 'needs host.root' : null;
  });
  await checks.run(hostTrials(options));
  await tryControls(checks, options);
  await checks.run(runtimeTrials);
  const providers = [await tryGvisor(checks, options), await tryNamespace(checks, options)];
  return {
    generated_at: new Date().toISOString(),
    makes_cells: makesCells,
    usable: providers.find(({ usable }) => usable)?.provider ?? null,
    providers,
    checks: checks.all,
    host_posture: await postureOf(checks.all),
  };
}

async function tryControls(checks: Checks, { dataDirectory }: DoctorOptions): Promise<void> {
  using probes = new Probes();
  await checks.run(kernelTrials(probes));
  await using groups = new CgroupTrials(instanceName(`${dataDirectory}#doctor`), probes);
  await checks.run(groups.all);
}

async function tryGvisor(checks: Checks, options: DoctorOptions): Promise<ProviderFinding> {
  const preflight = preflightOf(options, 'gvisor');
  const platform = await tryPlatforms(checks, preflight);
  return tryCells(checks, {
    provider: 'gvisor',
    needs: ['runtime.runsc', 'cgroup.limits'],
    async open() {
      if (platform === null) throw new Error('no platform of gVisor starts a cell here');
      return openGvisorCells(preflight);
    },
  });
}

function tryNamespace(checks: Checks, options: DoctorOptions): Promise<ProviderFinding> {
  return tryCells(checks, {
    provider: 'namespace',
    needs: [
      ...(needsGroups() ? ['cgroup.limits'] : []),
      ...(hasOneUser() ? [] : ['kernel.namespace.user']),
      'kernel.overlay',
    ],
    open: () => openNamespaceCells(preflightOf(options, 'namespace')),
  });
}

function preflightOf(options: DoctorOptions, choice: 'gvisor' | 'namespace'): PreflightOptions {
  const { packsDirectory, workBytes, dataDirectory } = options;
  return {
    choice,
    instance: `${dataDirectory}#doctor-${choice}`,
    packsDirectory,
    workBytes,
    hostPostureSha256: null,
  };
}
