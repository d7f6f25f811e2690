/**
 * Chooses how gVisor intercepts system calls on this host, and what starts its cells. It tries each way, because a platform may
 * hang instead of failing, and `runsc` itself does not report reliably what works. The choice is remembered until the next boot.
 */

import { SECOND_TRY_TIMES } from '../../kernel/host/patience.ts';
import { bootId, recall, remember } from '../../kernel/host/remembered.ts';
import { runDirectoryOf } from '../../kernel/host/run-directory.ts';
import { wasLate } from '../../sandbox.ts';
import { sayReasons } from '../reasons.ts';
import { GVISOR_PLATFORMS, type GvisorStarter, type GvisorWay, runscRuntime } from './runsc.ts';
import { sentryObstacle } from './sentry-command.ts';

const rememberedFile = () => runDirectoryOf('gvisor-platform.json');

/** Resolves if a cell started in that way. */
type TryWay = (way: GvisorWay) => Promise<void>;

/**
 * The best way that starts a cell in time. Only `starter` may start cells; `auto` prefers our own. Rejects with the
 * failure of each way.
 */
export async function chooseWay(starter: GvisorStarter | 'auto', tryWay: TryWay): Promise<GvisorWay> {
  const { identity } = await runscRuntime({ platform: 'ptrace', starter: 'runsc' });
  const ways = waysWith(starter, sentryObstacle(identity.version));
  const key = hostKey(identity.version, ways);
  const known = recalled(key, ways);
  if (known !== null) return known;
  const best = await firstThatWorks(ways, tryWay);
  remember(rememberedFile(), { key, way: nameOf(best) });
  return best;
}

/** The ways with a starter, best first. Our program uses only the best platform: others need more than the host provides. */
function waysWith(starter: GvisorStarter | 'auto', obstacle: string | null): readonly GvisorWay[] {
  if (starter === 'direct' && obstacle !== null) throw new Error(obstacle);
  const direct = { platform: 'systrap', starter: 'direct' } as const;
  const run = GVISOR_PLATFORMS.map((platform) => ({ platform, starter: 'runsc' }) as const);
  if (starter === 'direct') return [direct];
  return starter === 'auto' && obstacle === null ? [direct, ...run] : run;
}

/** The first way that works. Ways are tried one at a time: a way that could hang is not tried if a better way works. */
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

/**
 * Tries a way, and once more with more time if the first try was late, because the host may be slow. `tryOnce` gets the
 * factor by which a try may exceed the usual time. If kvm was late, it is not tried again, because it hangs.
 */
export async function tryTwice(
  { platform }: Pick<GvisorWay, 'platform'>,
  tryOnce: (times: number) => Promise<void>,
): Promise<void> {
  try {
    await tryOnce(1);
  } catch (error) {
    if (platform === 'kvm' || !wasLate(error)) throw error;
    await tryOnce(SECOND_TRY_TIMES);
  }
}

function nameOf({ platform, starter }: GvisorWay): string {
  return starter === 'direct' ? `${platform} by svc-sentry` : platform;
}

/** The key of a remembered choice: this runsc, these ways, this boot. */
function hostKey(version: string | null, ways: readonly GvisorWay[]): string {
  const names = ways.map(nameOf).join(', ');
  return `${version} ${bootId()} ${names}`;
}

function recalled(key: string, ways: readonly GvisorWay[]): GvisorWay | null {
  const remembered = recall(rememberedFile()) as { key?: unknown; way?: unknown } | null;
  return remembered?.key === key ? (ways.find((way) => nameOf(way) === remembered.way) ?? null) : null;
}
