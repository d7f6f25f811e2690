/** Puts together who may call: the kinds of credential that the settings and the ledger know. */
import { type Access, type CredentialKind, createAccess } from './access/authenticate.ts';
import { createIndexedKeys } from './access/indexed.ts';
import { createLegacyKeys } from './access/legacy.ts';
import type { Config, JwtConfig } from './config.ts';
import type { Store } from './store/store.ts';

export interface OpenAccess {
  readonly access: Access;
  /** Whether anybody has a credential now. */
  readonly hasCallers: boolean;
}

/** The operator's own keys come first: whatever form one has, it is the one that is meant. */
export async function openAccess(
  { legacyKeys, jwt }: Config,
  store: Pick<Store, 'credential' | 'credentials'>,
): Promise<OpenAccess> {
  const kinds: CredentialKind[] = [createLegacyKeys(legacyKeys), createIndexedKeys(store)];
  if (jwt !== null) kinds.push(await openJwtAccess(jwt));
  const hasCallers = legacyKeys.length > 0 || jwt !== null || (await store.credentials(null)).length > 0;
  return { access: createAccess(kinds), hasCallers };
}

/** Loaded where access tokens are accepted, and nowhere else. */
async function openJwtAccess(jwt: JwtConfig): Promise<CredentialKind> {
  const { createJwtAccess } = await import('./access/jwt.ts');
  const { createKeySet } = await import('./access/key-set.ts');
  return createJwtAccess({ ...jwt, keys: createKeySet({ source: jwt.jwks }) });
}
