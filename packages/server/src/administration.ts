/**
 * The operator's work on the data of a running or stopped service: its credentials, its signing keys, a copy of its
 * store, or a single job in it. The service itself is not loaded, so that a command starts at once.
 */

export { replaceDurably } from './ground/durably.ts';
export { StartError } from './ground/start-error.ts';
export { withoutPassword } from './ground/without-password.ts';
export { makeKeyFile, readKeyFile } from './job/sign/keys/key-files.ts';
export { type KnownKey, knownKeys, rotateSigningKey } from './job/sign/keys/signing-keys.ts';
export { type CopyProgress, copyStore } from './operator/copy-store.ts';
export type { CredentialView, IssuedCredential } from './operator/credentials.ts';
export { OperatorError } from './operator/operator-error.ts';
export { holdsData, requireData } from './operator/require-store.ts';
export { restore } from './operator/restore.ts';
export { announceService, type RunningService as FoundService, runningServices } from './operator/running-services.ts';
export { offerNewPacks, reopenLog } from './operator/served.ts';
export { withStoredJob } from './operator/stored-job.ts';
export { installProfile } from './sandbox/kernel/user-namespace/apparmor.ts';
export {
  enterUserNamespace,
  missingOfUser,
  whyNeverCells,
} from './sandbox/kernel/user-namespace/enter-user-namespace.ts';
export { nativeProblem, unusableNatives } from './sandbox/native/native.ts';
export { buildStaleNatives, setUpHost } from './sandbox/native/set-up-host.ts';
export { packsDirectoryOf } from './sandbox/packs/packs-directory.ts';
export { type Config, loadConfig } from './settings/config.ts';
export { SETTINGS } from './settings/settings.ts';
export { type OpenCredentials, openCredentials } from './start/open-credentials.ts';
export { backUp } from './store/back-up.ts';
export { ProcessLock } from './store/sqlite/files/process-lock.ts';
export { StoreError } from './store/store-error.ts';
