/** An issuer of access tokens for tests: a key pair, its JWK set in a file, and RFC 9068 tokens that it signs. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { RigSettings } from './rig.ts';

export interface TokenClaims {
  readonly tenant?: unknown;
  readonly scope?: string;
  readonly subject?: string;
  /** Seconds from now; negative for an expired token. */
  readonly lifetimeSeconds?: number;
  /** Members to add to the header or to replace there. */
  readonly header?: Readonly<Record<string, unknown>>;
}

/** A token issuer. Disposing it removes the file. */
export interface TokenIssuer extends Disposable {
  /** The settings that make a service trust this issuer. */
  readonly settings: RigSettings;
  token(claims?: TokenClaims): Promise<string>;
  /** Removes the issuer's only key from the set in the file. */
  withdraw(): void;
}

const ISSUER = 'https://issuer.example';
const AUDIENCE = 'https://svc.example';

export async function openTokenIssuer(): Promise<TokenIssuer> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-issuer-'));
  const { publicKey, privateKey } = await generateKeyPair('EdDSA', { extractable: true });
  const file = join(directory, 'keys.json');
  writeFileSync(file, JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'EdDSA' }] }));
  let ordinal = 0;
  return {
    settings: { 'jwt-issuer': ISSUER, 'jwt-audience': AUDIENCE, 'jwt-jwks': file },
    async token({ tenant = 'alpha', scope = '', subject = 'somebody', lifetimeSeconds = 300, header = {} } = {}) {
      const now = Math.floor(Date.now() / 1000);
      return await new SignJWT({ tenant_id: tenant, client_id: 'tests', scope })
        .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid: 'one', ...header })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(subject)
        .setJti(`token-${++ordinal}`)
        .setIssuedAt(now)
        .setExpirationTime(now + lifetimeSeconds)
        .sign(privateKey);
    },
    withdraw: () => writeFileSync(file, JSON.stringify({ keys: [] })),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true }),
  };
}
