/** The findings of the doctor, as data: `vouchbox doctor` prints them, and `vouchbox doctor --json` is exactly this. */
import type { Language } from '@vouchbox/protocol';
import type { ProviderChoice } from '../../classes/candidate.ts';
import type { Check } from './finding.ts';
import type { HostPosture } from './host-posture.ts';

/** Whether a provider could run programs, and in which languages. */
export interface ProviderFinding {
  readonly provider: Exclude<ProviderChoice, 'auto' | 'subprocess'>;
  readonly usable: boolean;
  /** Languages of the host's own pack. */
  readonly languages: readonly Language[];
}

export interface DoctorReport {
  readonly generated_at: string;
  /** False for a node without the role `executor`: then nothing that cells need was tried. */
  readonly makes_cells: boolean;
  /** The strongest provider that ran a program; null if none did. */
  readonly usable: ProviderFinding['provider'] | null;
  readonly providers: readonly ProviderFinding[];
  readonly checks: readonly Check[];
  /** The part of the findings that changes only with the host. The digest of this part is in every receipt of this host. */
  readonly host_posture: HostPosture;
}
