import { SCOPES } from '@vouchbox/protocol';
import { expect, test } from 'vitest';
import { createAccess, tokenBytesMax } from './authenticate.ts';
import { createLegacyKeys } from './legacy.ts';
import { isTenantName } from './tenant.ts';

const access = createAccess([createLegacyKeys([{ tenant: 'acme', key: 'sesame=' }])]);

test('a legacy key has one tenant and every scope, and never expires', { tags: ['Authentication-2b'] }, async () => {
  expect(await access.authenticate('Bearer sesame=')).toEqual({
    tenant: 'acme',
    principal: 'legacy:acme',
    auth_method: 'legacy',
    credential_id: 'legacy_1',
    scopes: [...SCOPES],
    expires_at: null,
  });
});

test.each([
  undefined,
  '',
  'Bearer',
  'Bearer ',
  'Basic c2VzYW1lPQ==',
  'sesame=',
  'Bearer sesame= x',
  'Bearer sesame',
  'Bearer sesame==',
  'Bearer Sesame=',
  'Bearer sésame=',
  `Bearer ${'a'.repeat(tokenBytesMax)}`,
  `Bearer ${'a'.repeat(tokenBytesMax + 1)}`,
])('the Authorization header %j is refused with unauthorized', { tags: ['AUTH-01'] }, async (header) => {
  expect(await access.authenticate(header)).toMatchObject({ code: 'unauthorized', status: 401 });
});

test('every refused token gets the same message, so a refusal does not say why the token is invalid', async () => {
  const messages = await Promise.all(
    ['Bearer wrong', 'Bearer a b', `Bearer ${'a'.repeat(9000)}`].map(async (header) => {
      return (await access.authenticate(header)) as Error;
    }),
  );
  expect(new Set(messages.map(({ message }) => message)).size).toBe(1);
});

test.each([
  '',
  '__proto__',
  'constructor',
  'toString',
  'a'.repeat(65),
  'a'.repeat(1000),
  'a/b',
  'a\0',
  ' a',
  'é',
  '.a',
])('the tenant %j is refused when the key is loaded, without showing the key', (tenant) => {
  expect(isTenantName(tenant)).toBe(false);
  expect(() => createLegacyKeys([{ tenant, key: 'sesame' }])).toThrow(/^(?!.*sesame)/);
});

test.each(['a', 'A1', 'acme-eu.prod_2', 'a'.repeat(64)])('the tenant %j is allowed', (tenant) => {
  expect(isTenantName(tenant)).toBe(true);
});

test('one key cannot belong to two tenants', () => {
  const twice = ['a', 'b'].map((tenant) => ({ tenant, key: 'sesame' }));
  expect(() => createLegacyKeys(twice)).toThrow('given twice');
});

test.each(['bearer sesame=', 'BEARER sesame=', 'Bearer   sesame='])(
  'the scheme of the Authorization header may have any case and any number of spaces after it: %j',
  async (header) => {
    expect(await access.authenticate(header)).toMatchObject({ tenant: 'acme' });
  },
);
