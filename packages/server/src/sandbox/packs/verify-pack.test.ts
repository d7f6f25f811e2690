import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  lstatSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freshDirectory, plantPack } from './pack.fixture.ts';
import type { PackPlaces } from './pack-store.ts';
import { verifyPack } from './verify-pack.ts';

const DATA = 'usr/lib/data.txt';

/** Writes other bytes of the same length and restores the old time: only the kernel's change time shows the change. */
function replaceBytes({ tree }: PackPlaces): void {
  const path = join(tree, DATA);
  const { atime, mtime } = lstatSync(path);
  writeFileSync(path, 'DATA');
  utimesSync(path, atime, mtime);
}

const CHANGES: readonly [what: string, change: (places: PackPlaces) => void, named: string][] = [
  ['another content of the same length', replaceBytes, `${DATA} differs`],
  ['another length', ({ tree }) => writeFileSync(join(tree, DATA), 'longer'), `${DATA} differs`],
  ['another mode', ({ tree }) => chmodSync(join(tree, DATA), 0o4444), `${DATA} differs`],
  ['another owner', ({ tree }) => chownSync(join(tree, DATA), 1000, 0), `${DATA} does not belong to root`],
  ['a directory with another mode', ({ tree }) => chmodSync(join(tree, 'usr/lib'), 0o777), 'usr/lib differs'],
  ['an added file', ({ tree }) => writeFileSync(join(tree, 'usr/lib/more'), ''), 'usr/lib/more is new'],
  ['a missing file', ({ tree }) => unlinkSync(join(tree, DATA)), `${DATA} is missing`],
  [
    'a link with another target',
    ({ tree }) => relink(join(tree, 'usr/lib/link'), '/etc/shadow'),
    'usr/lib/link differs',
  ],
  ['a link in a file’s place', ({ tree }) => relink(join(tree, DATA), '/etc/shadow'), `${DATA} differs`],
];

function relink(path: string, target: string): void {
  unlinkSync(path);
  symlinkSync(target, path);
}

describe.each(['every', 'changed'] as const)('checking the content of %s file', (content) => {
  it('accepts a pack that was not changed', () => {
    const places = plantPack(freshDirectory());
    expect(verifyPack(places, content)).toMatchObject({ facts: { name: 'tiny', packages: ['perl-base=5.36'] } });
  });

  it.each(CHANGES)('notices %s', (_, change, named) => {
    const places = plantPack(freshDirectory());
    verifyPack(places, content);
    change(places);
    expect(() => verifyPack(places, content)).toThrow(`the runtime pack tiny 1 was changed: ${named}`);
  });
});

describe('a pack', () => {
  it('has all its files read once, and later only the changed files', () => {
    const places = plantPack(freshDirectory());
    const first = verifyPack(places, 'changed');
    expect(first.read).toBeGreaterThan(3);
    expect(verifyPack(places, 'changed').read).toBe(0);
    chmodSync(join(places.tree, DATA), 0o444); // The mode stays the same, but the kernel notes a change.
    expect(verifyPack(places, 'changed').read).toBe(1);
    expect(verifyPack(places, 'every').read).toBe(first.read);
  });

  it('has as its digest the SHA-256 of its manifest, as sha256sum computes it', () => {
    const places = plantPack(freshDirectory());
    const { facts } = verifyPack(places, 'every');
    expect(facts.digest).toBe(createHash('sha256').update(readFileSync(places.manifest)).digest('hex'));
  });

  it('has the same digest if the same tree is built elsewhere or later', () => {
    const digests = [plantPack(freshDirectory()), plantPack(freshDirectory())].map(
      (places) => verifyPack(places, 'every').facts.digest,
    );
    expect(digests[0]).toBe(digests[1]);
  });

  it.each([
    ['its manifest was edited', ({ manifest }: PackPlaces) => writeFileSync(manifest, '{}\n'), "the pack's digest"],
    ['its facts are not legible', ({ facts }: PackPlaces) => writeFileSync(facts, '{'), 'cannot be read'],
    [
      'its facts miss a member',
      ({ facts }: PackPlaces) => writeFileSync(facts, '{}'),
      'does not have the facts of a pack',
    ],
    ['others may write to its tree', ({ tree }: PackPlaces) => chmodSync(tree, 0o777), 'changed by users other'],
    ['its tree is another user’s', ({ tree }: PackPlaces) => chownSync(tree, 1000, 0), 'changed by users other'],
    ['its tree has a third entry', ({ tree }: PackPlaces) => writeFileSync(join(tree, 'dev'), ''), 'may bring'],
    ['it was moved to another version', moveToAnotherVersion, 'is not a directory'],
  ])('is unusable if %s', (_, change, message) => {
    const places = plantPack(freshDirectory());
    change(places);
    expect(() => verifyPack(places, 'changed')).toThrow(message);
  });

  it.each(['usr', 'etc'])('is unusable if its %s is a link (ESC-18)', { tags: ['ESC-18'] }, (name) => {
    const places = plantPack(freshDirectory());
    rmSync(join(places.tree, name), { recursive: true });
    symlinkSync(`/${name}`, join(places.tree, name));
    expect(() => verifyPack(places, 'changed')).toThrow('is a symbolic link');
  });
});

function moveToAnotherVersion({ directory }: PackPlaces): void {
  renameSync(directory, join(directory, '../2'));
}
