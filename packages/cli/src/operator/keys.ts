/**
 * `vouchbox keys`: manages the credentials of a service, on the service's own host. A running service applies every change at
 * once. If no service runs, the command opens the store itself.
 */

import {
  type CredentialView,
  type IssuedCredential,
  type OpenCredentials,
  openCredentials,
} from '@vouchbox/server/administration';
import { UsageError } from '../failures/usage-error.ts';
import { type JsonOption, note, printResult, tableOf } from '../terminal/print.ts';
import { administeredService, type DataOptions } from './administered-service.ts';

/** Options of the `vouchbox keys` commands; no command has all of them. */
export interface KeysOptions extends DataOptions, JsonOption {
  readonly tenant?: string;
  readonly principal?: string;
  readonly scopes?: string;
  readonly expiresIn?: number;
  readonly expiresAt?: string;
  readonly overlap?: number;
}

/** Prints only the new key on stdout. The key's description is printed on stderr. */
export async function createKey(options: KeysOptions): Promise<void> {
  const { tenant = '', principal = null, scopes } = options;
  const expires_at = expiryOf(options);
  await using credentials = await openKeys(options);
  const wanted = scopes?.split(',').map((scope) => scope.trim()) ?? null;
  showIssued(await credentials.create({ tenant, principal, scopes: wanted, expires_at }), options);
}

/** Prints every key without its secret. Secrets are not stored. */
export async function listKeys(options: KeysOptions): Promise<void> {
  await using credentials = await openKeys(options);
  const items = await credentials.list({ tenant: options.tenant ?? null });
  const now = Date.now();
  printResult(options, tableOf([COLUMNS, ...items.map((item) => rowOf(item, now))]), items);
}

/** Replaces a key, and prints the new key. */
export async function rotateKey(credential_id: string, options: KeysOptions): Promise<void> {
  const expires_at = expiryOf(options);
  await using credentials = await openKeys(options);
  showIssued(await credentials.rotate({ credential_id, expires_at, overlap_seconds: options.overlap ?? 0 }), options);
}

/** Ends a key and says so. */
export async function revokeKey(credential_id: string, options: KeysOptions): Promise<void> {
  await using credentials = await openKeys(options);
  const view = await credentials.revoke({ credential_id });
  printResult(options, `${credential_id} is revoked\n`, view);
}

async function openKeys(options: KeysOptions): Promise<OpenCredentials> {
  const { dataDir, databaseUrl } = await administeredService(options);
  return await openCredentials({ dataDir, databaseUrl });
}

/** Prints only the key on stdout, so that a script can keep it. The key's description is printed on stderr. */
function showIssued({ key, ...view }: IssuedCredential, options: KeysOptions): void {
  const { credential_id, tenant, principal, scopes, expires_at } = view;
  const end = expires_at === null ? 'without an end' : `until ${expires_at}`;
  if (!options.json) {
    note(`key ${credential_id} of tenant ${tenant}, ${principal}, ${end}, for ${scopes.join(' ')}`);
    note('the key is shown only now; its caller keeps it with `vouchbox login --url URL`, or in SERVICE_KEY:');
  }
  printResult(options, `${key}\n`, { key, ...view });
}

const COLUMNS = ['credential_id', 'tenant', 'principal', 'state', 'created_at', 'expires_at', 'scopes'] as const;

function rowOf(view: CredentialView, now: number): string[] {
  const { credential_id, tenant, principal, created_at, expires_at, scopes } = view;
  return [credential_id, tenant, principal, stateOf(view, now), created_at, expires_at ?? '-', scopes.join(' ')];
}

/** A key that was rotated with an overlap is `ending`. */
function stateOf({ expires_at, revoked_at }: CredentialView, now: number): string {
  const hasCome = (time: string | null) => time !== null && Date.parse(time) <= now;
  if (hasCome(revoked_at)) return 'revoked';
  if (hasCome(expires_at)) return 'expired';
  return revoked_at === null ? 'active' : 'ending';
}

function expiryOf({ expiresIn, expiresAt }: KeysOptions): string | null {
  if (expiresIn === undefined) return expiresAt ?? null;
  if (expiresAt !== undefined) throw new UsageError('a key takes --expires-in or --expires-at, and not both');
  return new Date(Date.now() + expiresIn * 1000).toISOString();
}
