/** Indexed credentials. Only the hash of a secret is stored. `access/` decides whether a credential is valid now. */
import type { Scope } from '@vouchbox/protocol';
import { insertOf, selectBy } from '../by-column.ts';
import { prepared } from '../prepared.ts';
import type { CredentialRow } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import type { CredentialTable } from '../schema-of-access.ts';
import { endLinks } from './links.ts';

interface Revocation {
  readonly credential_id: string;
  readonly at: string;
}

/** The columns to read. They are listed by name, because a newer version may add a column while this version works. */
const COLUMNS = [
  'credential_id',
  'tenant',
  'principal',
  'scopes',
  'secret_sha256',
  'created_at',
  'expires_at',
  'revoked_at',
] as const;

const insertCredential = insertOf('credentials', COLUMNS);

const selectCredential = selectBy('credentials', ['credential_id'], COLUMNS);

const endEarlier = prepared((db, { credential_id, at }: Revocation) =>
  db
    .updateTable('credentials')
    .set({ revoked_at: at })
    .where('credential_id', '=', credential_id)
    .where((row) => row.or([row('revoked_at', 'is', null), row('revoked_at', '>', at)])),
);

/** Rejects if a credential with this identifier exists. */
export async function createCredential(db: StoreDatabase, row: CredentialRow): Promise<void> {
  await insertCredential.run(db, { ...row, scopes: JSON.stringify(row.scopes) });
}

/** Finds a credential by its identifier alone. The query needs no tenant, because the credential's row names the tenant. */
export async function credential(db: StoreDatabase, credential_id: string): Promise<CredentialRow | null> {
  const row = await selectCredential.first(db, { credential_id });
  return row === null ? null : credentialOf(row);
}

/** Credentials, oldest first; those of every tenant if `tenant` is null. */
export async function credentials(db: StoreDatabase, tenant: string | null): Promise<readonly CredentialRow[]> {
  const all = db.selectFrom('credentials').select(COLUMNS).orderBy('created_at').orderBy('credential_id');
  const rows = await (tenant === null ? all : all.where('tenant', '=', tenant)).execute();
  return rows.map(credentialOf);
}

/** Ends a credential and its links at `at`, or earlier if an earlier end was planned. False if the credential is unknown. */
export async function revokeCredential(db: StoreDatabase, revocation: Revocation): Promise<boolean> {
  endEarlier.send(db, revocation);
  endLinks.send(db, revocation);
  return (await selectCredential.first(db, revocation)) !== null;
}

/** Creates `successor` and ends its predecessor at `at`, both or neither. False if the predecessor is unknown. */
export async function rotateCredential(
  db: StoreDatabase,
  { successor, ...revocation }: Revocation & { successor: CredentialRow },
): Promise<boolean> {
  if (!(await revokeCredential(db, revocation))) return false;
  await createCredential(db, successor);
  return true;
}

function credentialOf(row: CredentialTable): CredentialRow {
  return { ...row, scopes: JSON.parse(row.scopes) as Scope[] };
}
