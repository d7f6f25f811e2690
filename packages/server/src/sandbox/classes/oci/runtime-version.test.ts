import { expect, it } from 'vitest';
import { knownDefects, requireVersion } from './runtime-version.ts';

it.each([
  ['crun', '1.8'],
  ['crun', '1.8.1'],
  ['crun', '1.14.3'],
  ['crun', '2.0'],
  ['runsc', '0.0~20221219.0'],
  ['runsc', 'release-20240212.0'],
] as const)('%s %s is new enough', (name, version) => {
  expect(() => requireVersion(name, version)).not.toThrow();
});

it.each([
  ['crun', '1.7.2'],
  ['crun', '0.15.1'],
  ['runsc', '0.0~20221218.0'],
  ['runsc', 'release-20210101.0'],
] as const)('%s %s is refused as older than the tested versions', (name, version) => {
  expect(() => requireVersion(name, version)).toThrow(/is older than/);
});

it.each([
  ['crun', null],
  ['crun', 'UNKNOWN'],
  ['runsc', 'VERSION_MISSING'],
] as const)('%s that states %j as its version is refused', (name, version) => {
  expect(() => requireVersion(name, version)).toThrow(/does not say which version/);
});

it('runsc of Debian 12 is known to fail at statx(2)', () => {
  expect(knownDefects({ name: 'runsc', version: '0.0~20221219.0', platform: 'ptrace' })).toMatch(/statx/);
});

it.each([
  ['runsc', '0.0~20240729.0'],
  ['crun', '1.8.1'],
  ['runsc', null],
] as const)('%s %s has no known failure', (name, version) => {
  expect(knownDefects({ name, version, platform: null })).toBeNull();
});
