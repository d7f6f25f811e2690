/**
 * Chooses how gVisor intercepts system calls on this host, by trying: a platform may hang instead of failing, and what
 * `runsc` says of itself proves nothing. What was found is remembered until the machine starts again.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { sayReasons } from '../reasons.ts';
import { GVISOR_PLATFORMS, type GvisorPlatform, runscRuntime } from './runtime.ts';

const DIRECTORY = '/run/svc';
const REMEMBERED = `${DIRECTORY}/gvisor-platform.json`;

/** Resolves where a cell started on the platform. */
type TryPlatform = (platform: GvisorPlatform) => Promise<void>;

/** The best platform that starts a cell in time. Rejects, saying how each of them failed. */
export async function choosePlatform(tryPlatform: TryPlatform): Promise<GvisorPlatform> {
  const key = await hostKey();
  const known = recall(key);
  if (known !== null) return known;
  const best = await firstThatWorks(tryPlatform);
  remember(key, best);
  return best;
}

/** Best first and one at a time: where the best works, none is tried that could hang. */
async function firstThatWorks(tryPlatform: TryPlatform): Promise<GvisorPlatform> {
  const failures: [string, string][] = [];
  for (const platform of GVISOR_PLATFORMS) {
    try {
      await tryPlatform(platform);
      return platform;
    } catch (error) {
      failures.push([platform, (error as Error).message]);
    }
  }
  throw new Error(sayReasons(failures));
}

/** What a remembered choice is good for: this runsc on this start of this machine. */
async function hostKey(): Promise<string> {
  const { identity } = await runscRuntime('ptrace');
  return `${identity.version} ${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}`;
}

function recall(key: string): GvisorPlatform | null {
  try {
    const remembered = JSON.parse(readFileSync(REMEMBERED, 'utf8')) as { key?: unknown; platform?: unknown };
    return remembered.key === key ? (GVISOR_PLATFORMS.find((name) => name === remembered.platform) ?? null) : null;
  } catch {
    return null; // Nothing remembered, or nothing legible: it is found out again.
  }
}

function remember(key: string, platform: GvisorPlatform): void {
  mkdirSync(DIRECTORY, { recursive: true, mode: 0o711 });
  writeFileSync(REMEMBERED, JSON.stringify({ key, platform }), { mode: 0o600 });
}
