/** The OCI runtimes and gVisor's ways to intercept system calls, as found on this host. */
import { existsSync } from 'node:fs';
import { tryGvisorPlatform } from '../oci/open-cells.ts';
import { crunRuntime, GVISOR_PLATFORMS, type GvisorPlatform, type Runtime, runscRuntime } from '../oci/runtime.ts';
import type { PreflightOptions } from '../preflight.ts';
import { pass, warn } from './report.ts';
import type { Checks, Trial } from './trial.ts';

/** The first gVisor with `systrap` and with every flag of statx(2) that ordinary tools use. */
const RUNSC_CURRENT = 20230801;

export function crunTrial(): Trial {
  return runtimeTrial('crun', crunRuntime);
}

export function runscTrial(): Trial {
  const trial = runtimeTrial('runsc', () => runscRuntime('ptrace'));
  return {
    ...trial,
    async attempt() {
      const found = await trial.attempt();
      const [date] = /\d{8}/.exec(found.observed.split(' ').at(-1) ?? '') ?? [];
      if (date === undefined || Number(date) >= RUNSC_CURRENT) return found;
      return warn(`${found.observed}, which works but is old`, FIXES.systrap);
    },
  };
}

function runtimeTrial(name: 'crun' | 'runsc', find: () => Promise<Runtime>): Trial {
  return {
    id: `runtime.${name}`,
    title: `${name}, found and not too old`,
    fix: `apt-get install ${name}`,
    async attempt() {
      const { path, identity } = await find();
      return pass(`${path} ${identity.version}`);
    },
  };
}

const FIXES: Readonly<Record<GvisorPlatform, string>> = {
  systrap: "install a current runsc from gVisor's own releases, which is quicker; the other platforms do without",
  kvm: 'give this machine a working /dev/kvm; the other platforms do without',
  ptrace: 'allow ptrace: sysctl -w kernel.yama.ptrace_scope=1',
};

/** Tries every platform and gives the best that started a cell; null where none did. One alone is enough. */
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
        await tryGvisorPlatform(options, platform);
        return pass('started a cell');
      } catch (error) {
        return warn((error as Error).message.replaceAll(/\s+/g, ' '), fix);
      }
    },
  };
}
