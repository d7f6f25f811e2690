/** The service as a library: read its settings, start it, stop it; and what an operator does to its host. */
export { type Config, loadConfig } from './config.ts';
export { doctor } from './doctor.ts';
export { SigningKeyError } from './job/sign/signing-key-error.ts';
export { type KnownKey, knownKeys, rotateSigningKey } from './job/sign/signing-keys.ts';
export { type OpenCredentials, openCredentials } from './open-credentials.ts';
export type { CredentialView, IssuedCredential } from './operator/credentials.ts';
export { OperatorError } from './operator/operator-error.ts';
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
export { SETTINGS, type Setting, type SettingName } from './settings.ts';
export { StartError } from './start-error.ts';
export { backUp } from './store/back-up.ts';
export { StoreError } from './store/store-error.ts';
export { readStoredJob, type StoredJob } from './stored-job.ts';
export { VERSION } from './version.ts';
