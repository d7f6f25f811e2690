/** What `vouchbox doctor` runs: the doctor for a service with certain settings. */
import { createFreeSpaceReserve } from '../capacity/free-space.ts';
import { ServiceError } from '../ground/service-error.ts';
import { packsDirectoryOf } from '../sandbox/packs/packs-directory.ts';
import { runDoctor } from '../sandbox/prove/doctor/doctor.ts';
import type { Check } from '../sandbox/prove/doctor/finding.ts';
import type { DoctorReport } from '../sandbox/prove/doctor/report.ts';
import { Checks } from '../sandbox/prove/doctor/trial.ts';
import type { Config } from '../settings/config.ts';
import { objectStoreTrials } from './object-store-trial.ts';

/** Tries every control on this host for a service with these settings. `onCheck` is called with each result. */
export async function doctor(config: Config, onCheck: (check: Check) => void = () => {}): Promise<DoctorReport> {
  const report = await runDoctor({
    makesCells: config.roles.includes('executor'),
    dataDirectory: config.dataDir,
    packsDirectory: packsDirectoryOf(config),
    workBytes: config.ceilings.max_file_mb * 2 ** 20,
    isReserveFree: (directory) => isReserveFree(directory, config.freeSpaceReserveMb),
    onCheck,
  });
  // The object store is not a control of the host, so it is not part of the host's posture.
  const ofService = new Checks(onCheck);
  await ofService.run(objectStoreTrials(config));
  return { ...report, checks: [...report.checks, ...ofService.all] };
}

async function isReserveFree(directory: string, reserveMb: number | null): Promise<boolean> {
  try {
    createFreeSpaceReserve({ directory, reserveMb }).check();
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'insufficient_storage') return false;
    throw error;
  }
}
