/**
 * What an operator does to the data of a service, whether it runs or not: its credentials, its signing keys, a copy of
 * its ledger, one job out of it. Nothing of the service itself comes with it, so that a command starts at once.
 */

export { StartError } from './ground/start-error.ts';
export { type KnownKey, knownKeys, rotateSigningKey } from './job/sign/keys/signing-keys.ts';
export type { CredentialView, IssuedCredential } from './operator/credentials.ts';
export { OperatorError } from './operator/operator-error.ts';
export { holdsData, requireData } from './operator/require-ledger.ts';
export { announceService, type RunningService as FoundService, runningServices } from './operator/running-services.ts';
export { readStoredJob } from './operator/stored-job.ts';
export { type Config, loadConfig } from './settings/config.ts';
export { SETTINGS } from './settings/settings.ts';
export { type OpenCredentials, openCredentials } from './start/open-credentials.ts';
export { backUp } from './store/back-up.ts';
export { StoreError } from './store/store-error.ts';
