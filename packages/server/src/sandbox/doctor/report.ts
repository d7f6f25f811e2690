/** What the doctor found, as data: `svc doctor` prints it, and `svc doctor --json` is exactly this. */
import type { Language } from '@svc/protocol';
import type { ProviderChoice } from '../preflight.ts';
import type { HostPosture } from './host-posture.ts';

/** `warn`: the service works without it, but less well or less safely. `not_tried`: what it needs did not pass. */
export type CheckResult = 'pass' | 'warn' | 'fail' | 'not_tried';

/** What came of one trial. */
export interface Finding {
  readonly result: CheckResult;
  /** What was seen, in one line. */
  readonly observed: string;
  /** The exact thing to do about it; null where there is nothing to do. */
  readonly fix: string | null;
}

/** One control of this host, tried for real. `id` is stable and made of words with dots between. */
export interface Check extends Finding {
  readonly id: string;
  readonly title: string;
}

/** Whether programs could be run by a provider, and in which languages. */
export interface ProviderFinding {
  readonly provider: Exclude<ProviderChoice, 'auto' | 'subprocess'>;
  readonly usable: boolean;
  /** Languages of the host's own pack. */
  readonly languages: readonly Language[];
}

export interface DoctorReport {
  readonly generated_at: string;
  /** The strongest provider that ran a program; null where none did. */
  readonly usable: ProviderFinding['provider'] | null;
  readonly providers: readonly ProviderFinding[];
  readonly checks: readonly Check[];
  /** The part of the findings that does not change until the host does. Its digest is in every receipt of this host. */
  readonly host_posture: HostPosture;
}

export function pass(observed: string): Finding {
  return { result: 'pass', observed, fix: null };
}

export function warn(observed: string, fix: string): Finding {
  return { result: 'warn', observed, fix };
}

export function fail(observed: string, fix: string): Finding {
  return { result: 'fail', observed, fix };
}
