/** Builds the access to the service from the kinds of credentials in the settings and in the store. */
import { type Access, type CredentialKind, createAccess } from '../access/authenticate.ts';
import type { CredentialRows } from '../access/credential-rows.ts';
import { createIndexedKeys } from '../access/indexed.ts';
import type { JwtAccess } from '../access/jwt.ts';
import { createLegacyKeys } from '../access/legacy.ts';
import type { Config, JwtConfig } from '../settings/config.ts';
import type { Log } from '../telemetry/log/log.ts';

export interface OpenAccess {
  readonly access: Access;
  /** Whether any credential exists now. */
  readonly hasCallers: boolean;
  /** Reads the token issuer's keys again, because they may have changed. Rejects if they cannot be read. */
  readonly reload: () => Promise<void>;
}

export interface OpenAccessOptions {
  readonly config: Pick<Config, 'legacyKeys' | 'jwt'>;
  readonly rows: CredentialRows;
  readonly log: Log;
}

/** Opens the access. The operator's legacy keys are tried first, so that none is mistaken for another kind of credential. */
export async function openAccess({ config, rows, log }: OpenAccessOptions): Promise<OpenAccess> {
  const { legacyKeys, jwt } = config;
  const kinds: CredentialKind[] = [createLegacyKeys(legacyKeys), createIndexedKeys(rows)];
  const tokens = jwt === null ? null : await openJwtAccess(jwt, log);
  if (tokens !== null) kinds.push(tokens);
  const hasCallers = legacyKeys.length > 0 || jwt !== null || (await rows.credentials(null)).length > 0;
  return { access: createAccess(kinds), hasCallers, reload: async () => await tokens?.reload() };
}

/** Opens the access with an issuer's tokens. The modules for this are loaded only if access tokens are accepted. */
async function openJwtAccess(jwt: JwtConfig, log: Log): Promise<JwtAccess> {
  const { createJwtAccess } = await import('../access/jwt.ts');
  const { createKeySet } = await import('../access/key-set.ts');
  const onProblem = (err: unknown) => log.error({ err }, 'the keys of the token issuer cannot be read');
  return createJwtAccess({ ...jwt, keys: createKeySet({ source: jwt.jwks, onProblem }) });
}
