/** The service as a library: read its settings, start it, stop it; and what an operator does to its data and its host. */
export * from './administration.ts';
export { doctor } from './doctor.ts';
export { type HostFindings, type HostPosture, hostPosture } from './sandbox/doctor/host-posture.ts';
export type { Check, CheckResult, DoctorReport, ProviderFinding } from './sandbox/doctor/report.ts';
export { type BuildOptions, type Built, buildPack } from './sandbox/packs/build-pack.ts';
export { PackError } from './sandbox/packs/pack-error.ts';
export {
  type Listed as ListedPack,
  listPacks,
  type PackFacts,
  removePack,
  requirePack,
} from './sandbox/packs/pack-store.ts';
export { packsDirectoryOf } from './sandbox/packs/packs-directory.ts';
export { type Recipe, readRecipe } from './sandbox/packs/recipe.ts';
export { type Verified, verifyPack } from './sandbox/packs/verify-pack.ts';
export { type RunningService, startService } from './service.ts';
export { VERSION } from './version.ts';
