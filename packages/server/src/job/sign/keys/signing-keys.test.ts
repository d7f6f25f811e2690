import { generateKeyPairSync, sign, verify } from 'node:crypto';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parsePublicKey } from '@vouchbox/evidence';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { keyPaths } from './key-files.ts';
import { SigningKeyError, type SigningKeyProblem } from './signing-key-error.ts';
import { knownKeys, openSigningKeys, rotateSigningKey } from './signing-keys.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'svc-keys-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

const modeOf = (path: string) => statSync(path).mode & 0o777;

/** The error with which `work` is refused. */
function refusalOf(work: () => unknown): SigningKeyError {
  try {
    work();
  } catch (error) {
    if (error instanceof SigningKeyError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('the first start of a service that signs', () => {
  test('makes an Ed25519 key that only its owner may read', () => {
    const { key_id, privateKey, public_key_pem } = openSigningKeys(dataDir).current();
    const paths = keyPaths(dataDir);
    expect(modeOf(paths.privateKey)).toBe(0o600);
    expect(modeOf(paths.directory)).toBe(0o700);
    expect(modeOf(paths.publicKeys)).toBe(0o700);
    const parsed = parsePublicKey(public_key_pem);
    expect(parsed.kind === 'key' && parsed.key.key_id).toBe(key_id);
    expect(verify(null, Buffer.from('x'), public_key_pem, sign(null, Buffer.from('x'), privateKey))).toBe(true);
  });

  test('leaves nothing except the key and its public half', () => {
    openSigningKeys(dataDir);
    expect(readdirSync(keyPaths(dataDir).directory).sort()).toEqual(['public-keys', 'signing-key.pem']);
    expect(readdirSync(keyPaths(dataDir).publicKeys)).toHaveLength(1);
  });
});

test('a later start opens the same signing key', () => {
  const first = openSigningKeys(dataDir).current();
  expect(openSigningKeys(dataDir).current().key_id).toBe(first.key_id);
});

describe('the start fails with one line that names the remedy if the signing key is unsafe (ATT-07)', () => {
  const refusals: readonly [what: string, spoil: () => void, problem: SigningKeyProblem, hint: RegExp][] = [
    ['a group may read it', () => chmodSync(keyPaths(dataDir).privateKey, 0o640), 'exposed', /^chmod 600 \//],
    ['everybody may read it', () => chmodSync(keyPaths(dataDir).privateKey, 0o644), 'exposed', /^chmod 600 \//],
    ['its directory is open', () => chmodSync(keyPaths(dataDir).directory, 0o755), 'exposed', /^chmod 700 \//],
    ['it is gone', () => rmSync(keyPaths(dataDir).privateKey), 'missing', /^restore it, or .*rotate/],
    ['it is not a key', () => writeFileSync(keyPaths(dataDir).privateKey, 'key'), 'malformed', /rotate/],
    ['it is of another kind', () => writeFileSync(keyPaths(dataDir).privateKey, rsaKey()), 'malformed', /rotate/],
  ];

  test.each(refusals)('%s', (_what, spoil, problem, hint) => {
    openSigningKeys(dataDir);
    spoil();
    const refusal = refusalOf(() => openSigningKeys(dataDir));
    expect(refusal.problem).toBe(problem);
    expect(refusal.hint).toMatch(hint);
    expect(`${refusal.message}${refusal.hint}`).not.toContain('\n');
    expect(refusal.publicReason).not.toContain('/');
  });

  test('the start fails if the signing key is replaced by a symbolic link', () => {
    openSigningKeys(dataDir);
    const { privateKey } = keyPaths(dataDir);
    renameSync(privateKey, join(dataDir, 'elsewhere'));
    symlinkSync(join(dataDir, 'elsewhere'), privateKey);
    expect(refusalOf(() => openSigningKeys(dataDir)).problem).toBe('unusable');
  });

  test('the start fails if a kept public key does not match its file name', () => {
    const { current } = rotateSigningKey(dataDir);
    const { publicKeys } = keyPaths(dataDir);
    rotateSigningKey(dataDir);
    const [one = '', other = ''] = readdirSync(publicKeys);
    writeFileSync(join(publicKeys, one), readFileSync(join(publicKeys, other)));
    expect(refusalOf(() => openSigningKeys(dataDir)).problem).toBe('malformed');
    expect(current).toMatch(/^sha256:[0-9a-f]{64}$/);
  });
});

describe('a rotation of the signing key', () => {
  test('keeps the old public key and removes the old private key', { tags: ['Authentication-10a'] }, () => {
    const old = openSigningKeys(dataDir).current();
    const { retired, current } = rotateSigningKey(dataDir);
    expect(retired).toBe(old.key_id);
    expect(knownKeys(dataDir).map(({ key_id, isCurrent }) => [key_id, isCurrent])).toEqual([
      [old.key_id, false],
      [current, true],
    ]);
    expect(knownKeys(dataDir)[0]?.public_key_pem).toBe(old.public_key_pem);
    expect(readdirSync(keyPaths(dataDir).directory).sort()).toEqual(['public-keys', 'signing-key.pem']);
  });

  test('lists the current key last, even if both keys were made at the same moment', () => {
    const old = openSigningKeys(dataDir).current().key_id;
    for (let at = 0; at < 8; at++) {
      rotateSigningKey(dataDir);
      const { publicKeys } = keyPaths(dataDir);
      for (const name of readdirSync(publicKeys)) utimesSync(join(publicKeys, name), 1000, 1000);
      const listed = knownKeys(dataDir);
      expect(listed.at(-1)?.isCurrent).toBe(true);
      expect(listed.map(({ key_id }) => key_id)).toContain(old);
    }
  });

  test('takes effect in a running service', () => {
    const keys = openSigningKeys(dataDir);
    const old = keys.current().key_id;
    const { current } = rotateSigningKey(dataDir);
    expect(keys.current().key_id).toBe(current);
    expect(keys.publicKey(old)).not.toBeNull();
    expect(keys.publicKey(current)).not.toBeNull();
    expect(keys.publicKey(`sha256:${'0'.repeat(64)}`)).toBeNull();
  });

  test.each([
    ['exposed', () => chmodSync(keyPaths(dataDir).privateKey, 0o644)],
    ['gone', () => rmSync(keyPaths(dataDir).privateKey)],
    ['damaged', () => writeFileSync(keyPaths(dataDir).privateKey, 'key')],
  ])('replaces a key that is %s', (_how, spoil) => {
    const old = openSigningKeys(dataDir).current();
    spoil();
    const { current } = rotateSigningKey(dataDir);
    expect(openSigningKeys(dataDir).current().key_id).toBe(current);
    expect(knownKeys(dataDir).map(({ key_id }) => key_id)).toEqual([old.key_id, current]);
  });

  test('if a rotation dies after it replaced the key, the next start completes it', () => {
    const { current } = rotateSigningKey(dataDir);
    rmSync(join(keyPaths(dataDir).publicKeys, `${current.replace('sha256:', '')}.pem`));
    expect(openSigningKeys(dataDir).publicKey(current)).not.toBeNull();
  });

  test('makes the first key if it runs before the first start', () => {
    expect(rotateSigningKey(dataDir).retired).toBeNull();
    expect(knownKeys(dataDir)).toHaveLength(1);
  });
});

test('a running service stops signing when its key is removed, and continues when the key is back (ATT-07)', () => {
  const keys = openSigningKeys(dataDir);
  const { key_id } = keys.current();
  const { privateKey } = keyPaths(dataDir);
  renameSync(privateKey, `${privateKey}.away`);
  expect(refusalOf(() => keys.current()).problem).toBe('missing');
  expect(keys.published().key_id).toBe(key_id);
  renameSync(`${privateKey}.away`, privateKey);
  expect(keys.current().key_id).toBe(key_id);
  chmodSync(privateKey, 0o644);
  expect(refusalOf(() => keys.current()).problem).toBe('exposed');
});

test('the list of keys names a key whose private half is missing, but not as the current key', () => {
  const { key_id } = openSigningKeys(dataDir).current();
  rmSync(keyPaths(dataDir).privateKey);
  expect(knownKeys(dataDir).map((key) => [key.key_id, key.isCurrent])).toEqual([[key_id, false]]);
});

test('the list of keys has the current key, even if the file with the public half is lost', () => {
  const { key_id } = openSigningKeys(dataDir).current();
  rmSync(join(keyPaths(dataDir).publicKeys, `${key_id.replace('sha256:', '')}.pem`));
  expect(knownKeys(dataDir).map((key) => [key.key_id, key.isCurrent])).toEqual([[key_id, true]]);
});

test('the list of keys is empty for a data directory without keys, and listing creates no key', () => {
  expect(knownKeys(dataDir)).toEqual([]);
  expect(readdirSync(dataDir)).toEqual([]);
});

function rsaKey(): string {
  return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }) as string;
}
