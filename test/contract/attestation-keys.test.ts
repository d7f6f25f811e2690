/** Spec § Authentication 10: the signing keys in the operator's files, and the commands that manage them. */
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parsePublicKey } from '@vouchbox/evidence';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { vouchbox } from '../rig/command.ts';
import { Rig } from '../rig/rig.ts';

let dataDir: string;
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'svc-attestation-keys-'));
  const unsigned = await Rig.start({ provider: 'subprocess', 'attestation-mode': 'off' }, dataDir);
  expect(await unsigned.stop('kept')).toEqual([]);
});
afterAll(() => rmSync(dataDir, { recursive: true }));

const keys = (...words: string[]) => vouchbox(['attestation-keys', ...words, '--data-dir', dataDir]);
const serve = () =>
  vouchbox(['serve', '--port', '0', '--provider', 'subprocess', '--data-dir', dataDir, '--log-level', 'silent']);

test('without any signing key, the list of keys is empty and no key can be exported', async () => {
  expect(await keys('list', '--json')).toMatchObject({ code: 0, stdout: '[]\n' });
  expect(await keys('export')).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(
      /^vouchbox: there is no signing key yet: a service that signs makes one at its start\n$/m,
    ) as string,
  });
});

test('a rotation prints the new key’s identifier, and the list then has both keys', async () => {
  const first = (await keys('rotate')).stdout.trim();
  const rotated = await keys('rotate');
  const second = rotated.stdout.trim();
  expect([first, second].every((key_id) => /^sha256:[0-9a-f]{64}$/.test(key_id))).toBe(true);
  expect(rotated.stderr).toContain(`${first} signs nothing any more`);
  const listed = await keys('list', '--json');
  expect(JSON.parse(listed.stdout)).toMatchObject([
    { key_id: first, state: 'retired' },
    { key_id: second, state: 'current' },
  ]);
  expect((await keys('list')).stdout.split('\n').map((line) => line.split(/\s+/).slice(0, 2))).toEqual([
    ['key_id', 'state'],
    [first, 'retired'],
    [second, 'current'],
    [''],
  ]);
});

test('the current key and every old one are exported as canonical PEM, and only to a new file', async () => {
  const [old, current] = JSON.parse((await keys('list', '--json')).stdout) as { key_id: string }[];
  for (const [words, key] of [
    [[], current],
    [[old?.key_id ?? ''], old],
  ] as const) {
    const parsed = parsePublicKey((await keys('export', ...words)).stdout);
    expect(parsed.kind === 'key' && parsed.key.key_id).toBe(key?.key_id);
  }
  const file = join(dataDir, 'pinned.pem');
  const written = await keys('export', '--output', file);
  expect(written).toMatchObject({ code: 0, stdout: '' });
  expect(written.stderr).toContain(current?.key_id);
  expect(written.stderr).toMatch(/service-verify directory EXPORT --public-key \S*pinned\.pem --tenant TENANT\n$/);
  expect(readFileSync(file, 'utf8')).toBe((await keys('export')).stdout);
  expect((await keys('export', '--output', file)).code).toBe(2);
  expect(await keys('export', 'sha256:0')).toMatchObject({ code: 2, stdout: '' });
});

describe('a service refuses to start with a key that other users can access, and says in one line what to do (ATT-07)', {
  tags: ['ATT-07'],
}, () => {
  test.each([
    ['signing-key.pem', '644', 'chmod 600'],
    ['signing-key.pem', '640', 'chmod 600'],
    ['.', '755', 'chmod 700'],
  ])('the start fails for %s with mode %s', async (name, mode, fix) => {
    const path = join(dataDir, 'attestation-keys', name);
    chmodSync(path, Number.parseInt(mode, 8));
    const { code, stdout, stderr } = await serve();
    chmodSync(path, name === '.' ? 0o700 : 0o600);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(new RegExp(`^vouchbox: .* is open to other users \\(mode ${mode}\\); ${fix} /[^\n]*\n$`));
  });

  test('a service refuses to start without the key that signed its results', async () => {
    rmSync(join(dataDir, 'attestation-keys', 'signing-key.pem'));
    const { code, stderr } = await serve();
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^vouchbox: the signing key .* is gone.*; restore it, or make a new one with `vouchbox attestation-keys rotate`\n$/,
    );
    expect((await keys('rotate')).code).toBe(0);
    expect(JSON.parse((await keys('list', '--json')).stdout)).toHaveLength(3);
  });
});
