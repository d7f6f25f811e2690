/** The service as a library: to read its settings, start it, stop it, and do the operator's work on its data and host. */
export * from './administration.ts';
export { buildPack } from './sandbox/packs/build/build-pack.ts';
export { NPM_WORDS, plantLockfile, wheelWords } from './sandbox/packs/build/install-locked.ts';
export { checkRequirements } from './sandbox/packs/build/locked-packages.ts';
export { readRecipe } from './sandbox/packs/build/recipe.ts';
export {
  type Listed as ListedPack,
  listPacks,
  removePack,
  requirePack,
} from './sandbox/packs/pack-store.ts';
export { packsDirectoryOf } from './sandbox/packs/packs-directory.ts';
export { verifyPack } from './sandbox/packs/verify-pack.ts';
export type { Check, CheckResult } from './sandbox/prove/doctor/finding.ts';
export type { DoctorReport } from './sandbox/prove/doctor/report.ts';
export { startService } from './service.ts';
export { doctor } from './start/doctor.ts';
