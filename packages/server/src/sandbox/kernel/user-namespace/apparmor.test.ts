import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { nativePath } from '../../native/native.ts';
import { installProfile } from './apparmor.ts';

const SHARED = 'usr/local/lib/vouchbox/svc-enter';

/** The root directory of a host. The host's AppArmor parser runs this script; with null, the host has no parser. */
function hostWith(parser: string | null): string {
  const root = mkdtempSync(join(tmpdir(), 'svc-apparmor-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  if (parser === null) return root;
  mkdirSync(join(root, 'usr/sbin'), { recursive: true });
  writeFileSync(join(root, 'usr/sbin/apparmor_parser'), `#!/bin/sh\n${parser}\n`);
  chmodSync(join(root, 'usr/sbin/apparmor_parser'), 0o755);
  return root;
}

it('the AppArmor profile allows user namespaces only to a copy of the launcher that belongs to root', () => {
  const root = hostWith('test "$1" = --replace && cp "$2" "$2.read"');
  expect(installProfile(root)).toHaveLength(3);
  const copy = statSync(join(root, SHARED));
  expect([copy.uid, copy.mode & 0o777]).toEqual([0, 0o755]);
  expect(readFileSync(join(root, SHARED)).equals(readFileSync(nativePath('svc-enter')))).toBe(true);
  const profile = readFileSync(join(root, 'etc/apparmor.d/vouchbox.read'), 'utf8');
  expect(profile.match(/\/usr\S+/g)).toEqual([`/${SHARED}`]);
  expect(profile).toContain('userns,');
});

it('a second installation of the AppArmor profile replaces an older copy of the program', () => {
  const root = hostWith('exit 0');
  installProfile(root);
  writeFileSync(join(root, SHARED), 'older');
  installProfile(root);
  expect(readFileSync(join(root, SHARED)).equals(readFileSync(nativePath('svc-enter')))).toBe(true);
});

it('if the parser refuses the AppArmor profile, the error states the parser’s reason', () => {
  const root = hostWith('echo "syntax error, line 5" >&2; exit 1');
  expect(() => installProfile(root)).toThrow(/refuses \/etc\/apparmor\.d\/vouchbox: syntax error, line 5/);
});

it('without AppArmor’s parser the profile is installed, and the command says that the parser is missing', () => {
  expect(installProfile(hostWith(null)).at(-1)).toMatch(/apparmor_parser is not installed/);
});
