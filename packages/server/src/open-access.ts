/** Puts together who may call: the kinds of credential that the settings and the ledger know. */
import { type Access, type CredentialKind, createAccess } from './access/authenticate.ts';
import { createIndexedKeys } from './access/indexed.ts';
import type { JwtAccess } from './access/jwt.ts';
import { createLegacyKeys } from './access/legacy.ts';
import type { Config, JwtConfig } from './config.ts';
import type { Store } from './store/store.ts';

export interface OpenAccess {
  readonly access: Access;
  /** Whether anybody has a credential now. */
  readonly hasCallers: boolean;
  /** Reads again what may have changed: the keys of the token issuer. Rejects where they cannot be read. */
  readonly reload: () => Promise<void>;
}

/** The operator's own keys come first: whatever form one has, it is the one that is meant. */
export async function openAccess(
  { legacyKeys, jwt }: Config,
  store: Pick<Store, 'credential' | 'credentials'>,
): Promise<OpenAccess> {
  const kinds: CredentialKind[] = [createLegacyKeys(legacyKeys), createIndexedKeys(store)];
  const tokens = jwt === null ? null : await openJwtAccess(jwt);
  if (tokens !== null) kinds.push(tokens);
  const hasCallers = legacyKeys.length > 0 || jwt !== null || (await store.credentials(null)).length > 0;
  return { access: createAccess(kinds), hasCallers, reload: async () => await tokens?.reload() };
}

/** Loaded where access tokens are accepted, and nowhere else. */
async function openJwtAccess(jwt: JwtConfig): Promise<JwtAccess> {
  const { createJwtAccess } = await import('./access/jwt.ts');
  const { createKeySet } = await import('./access/key-set.ts');
  return createJwtAccess({ ...jwt, keys: createKeySet({ source: jwt.jwks }) });
}
