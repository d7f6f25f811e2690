/**
 * What an operator does to the data of a service, whether it runs or not: its credentials, its signing keys, a copy of
 * its ledger, one job out of it. Nothing of the service itself comes with it, so that a command starts at once.
 */
export { type Config, loadConfig } from './config.ts';
export { type KnownKey, knownKeys, rotateSigningKey } from './job/sign/signing-keys.ts';
export { type OpenCredentials, openCredentials } from './open-credentials.ts';
export type { CredentialView, IssuedCredential } from './operator/credentials.ts';
export { OperatorError } from './operator/operator-error.ts';
export { holdsData, requireData } from './require-ledger.ts';
export { announceService, type RunningService as FoundService, runningServices } from './running-services.ts';
export { SETTINGS } from './settings.ts';
export { StartError } from './start-error.ts';
export { backUp } from './store/back-up.ts';
export { StoreError } from './store/store-error.ts';
export { readStoredJob } from './stored-job.ts';
