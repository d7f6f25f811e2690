import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Caller } from '../ground/caller.ts';
import { createAccess } from './authenticate.ts';
import { createJwtAccess } from './jwt.ts';
import { createKeySet } from './key-set.ts';

interface Vectors {
  readonly now: number;
  readonly issuer: string;
  readonly audience: string;
  readonly jwks: unknown;
  readonly cases: readonly { name: string; expect: 'accept' | 'reject'; why: string; token: string }[];
}
const vectors = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../../test/vectors/jwt/rfc9068-cases.json'), 'utf8'),
) as Vectors;

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-jwt-'));
});
afterAll(() => rm(directory, { recursive: true }));

async function keySetOf(name: string, jwks: unknown, now?: () => number) {
  const source = join(directory, name);
  await writeFile(source, JSON.stringify(jwks));
  return { source, keys: createKeySet(now === undefined ? { source } : { source, now }) };
}

describe('the test vectors for RFC 9068 access tokens', {
  tags: ['Authentication-2a', 'Authentication-2d', 'AUTH-03'],
}, () => {
  test.each(vectors.cases.map(({ name, ...rest }) => [name, rest] as const))(
    '%s',
    async (_name, { token, ...wanted }) => {
      const { issuer, audience, jwks, now } = vectors;
      const { keys } = await keySetOf('vectors.json', jwks);
      const jwt = createJwtAccess({ issuer, audience, tenantClaim: 'tenant', keys, now: () => now * 1000 });
      // In a header, spaces before a token do not count, so a token that begins with a space is tried without a header.
      const header = `Bearer ${token}`;
      const resolved = token.startsWith(' ')
        ? await jwt.resolve(token)
        : await createAccess([jwt]).authenticate(header);
      // A token without scopes is accepted but may do nothing: each route refuses it with 403.
      const isUseful = resolved !== null && 'tenant' in resolved && resolved.scopes.length > 0;
      expect({ ...wanted, expect: isUseful ? 'accept' : 'reject' }).toEqual(wanted);
    },
  );

  test('are complete: there are 68', () => {
    expect(vectors.cases).toHaveLength(68);
  });
});

describe('an access token of an issuer', () => {
  const issuer = 'https://issuer.example';
  const audience = 'svc';
  const now = () => 1_800_000_000_000;

  async function signer(kid: string, alg = 'ES256') {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid, alg };
    const sign = (claims: Record<string, unknown> = {}) =>
      new SignJWT({ client_id: 'c', jti: 'j', tenant_id: 'acme', scope: 'jobs:read other jobs:cancel', ...claims })
        .setProtectedHeader({ alg, typ: 'at+jwt', kid })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject('user-1')
        .setIssuedAt(now() / 1000)
        .setExpirationTime(now() / 1000 + 600)
        .sign(privateKey);
    return { jwk, sign };
  }

  test.each(['ES256', 'RS256', 'EdDSA'])(
    'is accepted if it is signed with %s, and its claims name the caller',
    async (alg) => {
      const { jwk, sign } = await signer('k', alg);
      const { keys } = await keySetOf(`${alg}.json`, { keys: [jwk] });
      const jwt = createJwtAccess({ issuer, audience, tenantClaim: 'tenant_id', keys, now });
      expect(await jwt.resolve(await sign())).toEqual({
        tenant: 'acme',
        principal: 'user-1',
        auth_method: 'jwt',
        credential_id: 'j',
        scopes: ['jobs:read', 'jobs:cancel'],
        expires_at: '2027-01-15T08:10:00.000Z',
      });
    },
  );

  test('is refused if its algorithm is not allowed, even if its key is in the set', async () => {
    const { jwk, sign } = await signer('k', 'ES384');
    const { keys } = await keySetOf('es384.json', { keys: [jwk] });
    const jwt = createJwtAccess({ issuer, audience, tenantClaim: 'tenant_id', keys, now });
    expect(await jwt.resolve(await sign())).toMatchObject({ code: 'unauthorized' });
  });

  test('keeps its caller authorized until the token expires, and no longer', {
    tags: ['Authentication-2e'],
  }, async () => {
    let time = now();
    const { jwk, sign } = await signer('k');
    const { keys } = await keySetOf('stands.json', { keys: [jwk] });
    const jwt = createJwtAccess({ issuer, audience, tenantClaim: 'tenant_id', keys, now: () => time });
    const access = createAccess([jwt], () => time);
    const caller = (await jwt.resolve(await sign())) as Caller;
    time += 599_999;
    expect(await access.stands(caller)).toBe(true);
    time += 1;
    expect(await access.stands(caller)).toBe(false);
  });

  test('is accepted until it expires, whether the service saw it before or not', async () => {
    let time = now();
    const { jwk, sign } = await signer('k');
    const { keys } = await keySetOf('believed.json', { keys: [jwk] });
    const jwt = createJwtAccess({ issuer, audience, tenantClaim: 'tenant_id', keys, now: () => time });
    const [seen, unseen, early] = await Promise.all([sign(), sign({ jti: 'unseen' }), sign({ jti: 'early' })]);
    expect(await jwt.resolve(seen)).toMatchObject({ tenant: 'acme' });
    time += 599_999;
    expect(await jwt.resolve(seen)).toMatchObject({ tenant: 'acme' });
    time += 1;
    for (const token of [seen, unseen]) expect(await jwt.resolve(token)).toMatchObject({ code: 'unauthorized' });
    time = now() - 30_000;
    expect(await jwt.resolve(early)).toMatchObject({ tenant: 'acme' });
  });

  test('with an unknown key id makes the service read the keys again, at most once in 30 seconds', async () => {
    let time = 0;
    const [first, second] = await Promise.all([signer('first'), signer('second')]);
    const { source, keys } = await keySetOf('rotated.json', { keys: [first.jwk] }, () => time);
    const jwt = createJwtAccess({ issuer, audience, tenantClaim: 'tenant_id', keys, now });
    expect(await jwt.resolve(await first.sign())).toMatchObject({ tenant: 'acme' });
    await writeFile(source, JSON.stringify({ keys: [second.jwk] }));
    time = 29_999;
    expect(await jwt.resolve(await second.sign())).toMatchObject({ code: 'unauthorized' });
    time = 30_000;
    expect(await jwt.resolve(await second.sign({ jti: 'again' }))).toMatchObject({ tenant: 'acme' });
    await rm(source);
    time = 60_000;
    expect(await jwt.resolve(await first.sign({ jti: 'gone' }))).toMatchObject({ code: 'unauthorized' });
    expect(await jwt.resolve(await second.sign({ jti: 'kept' }))).toMatchObject({ tenant: 'acme' });
  });

  test('is answered with 503 while the keys of the issuer cannot be read', async () => {
    const { sign } = await signer('k');
    const told: unknown[] = [];
    const source = join(directory, 'nowhere.json');
    let time = 0;
    const keys = createKeySet({ source, onProblem: (error) => told.push(error), now: () => time });
    const jwt = createJwtAccess({ issuer, audience, tenantClaim: 'tenant_id', keys, now });
    const token = await sign();
    const refusal = { code: 'issuer_unavailable', status: 503, retryAfterSeconds: 30 };
    for (const later of [0, 10_000]) {
      time = later;
      await expect(jwt.resolve(token)).rejects.toMatchObject({ ...refusal, retryAfterSeconds: 30 - later / 1000 });
    }
    // The operator is told of each failed read of the key set, but not of each request.
    expect(told).toEqual([expect.objectContaining({ code: 'ENOENT' })]);
    time = 30_000;
    await expect(jwt.resolve(token)).rejects.toMatchObject(refusal);
    expect(told).toHaveLength(2);
  });

  test('is refused if its key in the set is a secret key or an encryption key', async () => {
    const { jwk, sign } = await signer('k');
    const { keys } = await keySetOf('enc.json', { keys: [{ ...jwk, use: 'enc' }] });
    const jwt = createJwtAccess({ issuer, audience, tenantClaim: 'tenant_id', keys, now });
    expect(await jwt.resolve(await sign())).toMatchObject({ code: 'unauthorized' });
  });

  test.each([
    { client_id: '' },
    { jti: 'x'.repeat(257) },
    { client_id: 7 },
    { tenant_id: 'a/b' },
    { tenant_id: 'constructor' },
  ])('a token with the claim %j is refused', async (claims) => {
    const { jwk, sign } = await signer('k');
    const { keys } = await keySetOf('claims.json', { keys: [jwk] });
    const jwt = createJwtAccess({ issuer, audience, tenantClaim: 'tenant_id', keys, now });
    expect(await jwt.resolve(await sign(claims))).toMatchObject({ code: 'unauthorized' });
  });
});
