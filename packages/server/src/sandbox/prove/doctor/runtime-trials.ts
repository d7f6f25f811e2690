/** The OCI runtimes and gVisor's ways to intercept system calls, as found on this host. */
import { existsSync } from 'node:fs';
import type { Runtime } from '../../cell/runtime.ts';
import type { PreflightOptions } from '../../classes/candidate.ts';
import { tryTwice } from '../../classes/gvisor/gvisor-platform.ts';
import { GVISOR_PLATFORMS, type GvisorPlatform, runscRuntime } from '../../classes/gvisor/runsc.ts';
import { crunRuntime } from '../../classes/namespace/crun.ts';
import { knownDefects } from '../../classes/oci/runtime-version.ts';
import { tryGvisorWay } from '../../classes/open-cells.ts';
import { wasLate } from '../../sandbox.ts';
import { pass, warn } from './finding.ts';
import type { Checks, Trial } from './trial.ts';

export const runtimeTrials: readonly Trial[] = [
  runtimeTrial('crun', crunRuntime),
  runtimeTrial('runsc', () => runscRuntime({ platform: 'ptrace', starter: 'runsc' })),
];

function runtimeTrial(name: 'crun' | 'runsc', find: () => Promise<Runtime>): Trial {
  return {
    id: `runtime.${name}`,
    title: `${name}, found and not too old`,
    fix: `apt-get install ${name}`,
    async attempt() {
      const { path, identity } = await find();
      const observed = `${path} ${identity.version}`;
      const defects = knownDefects(identity);
      return defects === null ? pass(observed) : warn(`${observed}, which is old: ${defects}`, FIXES.systrap);
    },
  };
}

const FIXES: Readonly<Record<GvisorPlatform, string>> = {
  systrap:
    'run `vouchbox setup` as root, which takes a newer runsc from backports where Debian has one; else install one of 2023-08 or later',
  kvm: 'give this machine a working /dev/kvm; the other platforms do not need it',
  ptrace: 'allow ptrace: sysctl -w kernel.yama.ptrace_scope=1',
};

/** The advice if the platform had too little time, but may work with more. */
const SLOW_FIX = 'this host is slow or busy: stop what loads it, and try again';

/** Tries every platform and returns the best one that started a cell; null if none did. One working platform is enough. */
export async function tryPlatforms(checks: Checks, options: PreflightOptions): Promise<GvisorPlatform | null> {
  await checks.run(GVISOR_PLATFORMS.map((platform) => platformTrial(platform, options)));
  return GVISOR_PLATFORMS.find((platform) => checks.passed(`gvisor.platform.${platform}`)) ?? null;
}

function platformTrial(platform: GvisorPlatform, options: PreflightOptions): Trial {
  const fix = FIXES[platform];
  return {
    id: `gvisor.platform.${platform}`,
    title: `gvisor: platform ${platform} starts a cell in time`,
    needs: ['runtime.runsc', 'cgroup.limits'],
    fix,
    async attempt() {
      if (platform === 'kvm' && !existsSync('/dev/kvm')) return warn('there is no /dev/kvm', fix);
      try {
        const way = { platform, starter: 'runsc' } as const;
        await tryTwice(way, (times) => tryGvisorWay(options, way, times));
        return pass('started a cell');
      } catch (error) {
        const isSlow = platform !== 'kvm' && wasLate(error);
        return warn((error as Error).message.replaceAll(/\s+/g, ' '), isSlow ? SLOW_FIX : fix);
      }
    },
  };
}
