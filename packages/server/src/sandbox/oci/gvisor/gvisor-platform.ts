/**
 * Chooses how gVisor intercepts system calls on this host, and what starts its cells, by trying: a platform may hang instead
 * of failing, and what `runsc` says of itself proves nothing. What was found is remembered until the machine starts again.
 */

import { bootId, recall, remember } from '../../host/remembered.ts';
import { sayReasons } from '../../reasons.ts';
import { GVISOR_PLATFORMS, type GvisorLauncher, type GvisorWay, runscRuntime } from '../runtime/runtime.ts';
import { sentryObstacle } from './sentry-command.ts';

const REMEMBERED = '/run/svc/gvisor-platform.json';

/** Resolves where a cell started in that way. */
type TryWay = (way: GvisorWay) => Promise<void>;

/**
 * The best way that starts a cell in time. `launcher` is the only one that may start cells; `auto` prefers our own. Rejects,
 * saying how each way failed.
 */
export async function chooseWay(launcher: GvisorLauncher | 'auto', tryWay: TryWay): Promise<GvisorWay> {
  const { identity } = await runscRuntime({ platform: 'ptrace', launcher: 'runsc' });
  const ways = waysWith(launcher, sentryObstacle(identity.version));
  const key = hostKey(identity.version, ways);
  const known = recalled(key, ways);
  if (known !== null) return known;
  const best = await firstThatWorks(ways, tryWay);
  remember(REMEMBERED, { key, way: nameOf(best) });
  return best;
}

/** Best first. Our own start is for the best platform alone: the others need more of the host than it gives. */
function waysWith(launcher: GvisorLauncher | 'auto', obstacle: string | null): readonly GvisorWay[] {
  if (launcher === 'direct' && obstacle !== null) throw new Error(obstacle);
  const direct = { platform: 'systrap', launcher: 'direct' } as const;
  const run = GVISOR_PLATFORMS.map((platform) => ({ platform, launcher: 'runsc' }) as const);
  if (launcher === 'direct') return [direct];
  return launcher === 'auto' && obstacle === null ? [direct, ...run] : run;
}

/** One at a time: where the best works, none is tried that could hang. */
async function firstThatWorks(ways: readonly GvisorWay[], tryWay: TryWay): Promise<GvisorWay> {
  const failures: [string, string][] = [];
  for (const way of ways) {
    try {
      await tryWay(way);
      return way;
    } catch (error) {
      failures.push([nameOf(way), (error as Error).message]);
    }
  }
  throw new Error(sayReasons(failures));
}

function nameOf({ platform, launcher }: GvisorWay): string {
  return launcher === 'direct' ? `${platform} by svc-sentry` : platform;
}

/** What a remembered choice is good for: this runsc, with this choice, on this start of this machine. */
function hostKey(version: string | null, ways: readonly GvisorWay[]): string {
  const names = ways.map(nameOf).join(', ');
  return `${version} ${bootId()} ${names}`;
}

function recalled(key: string, ways: readonly GvisorWay[]): GvisorWay | null {
  const remembered = recall(REMEMBERED) as { key?: unknown; way?: unknown } | null;
  return remembered?.key === key ? (ways.find((way) => nameOf(way) === remembered.way) ?? null) : null;
}
