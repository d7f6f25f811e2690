/** The settings with which the set-up makes apt install one package from a release's backports. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

type Plan = { suite: string; sources: string | null; preferences: string } | null;
const module = join(import.meta.dirname, '../../packages/server/setup/backports.mjs');
const { planBackport } = (await import(module)) as { planBackport: (name: string, etc: string) => Plan };

let etc: string;
beforeEach(() => {
  etc = mkdtempSync(join(tmpdir(), 'svc-backports-'));
  write('os-release', 'ID=debian\nVERSION_CODENAME=bookworm\n');
});
afterEach(() => rmSync(etc, { recursive: true }));

function write(name: string, text: string): void {
  mkdirSync(dirname(join(etc, name)), { recursive: true });
  writeFileSync(join(etc, name), text);
}

const STANZA = `Types: deb
# a comment
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/a.gpg
`;
const SECURITY = 'Types: deb\nURIs: http://mirror.example/security\nSuites: bookworm-security\nComponents: main\n';
const ONLY_RUNSC = 'Package: runsc\nPin: release n=bookworm-backports\nPin-Priority: 990\n';
const NOTHING_ELSE = 'Package: *\nPin: release n=bookworm-backports\nPin-Priority: -1\n';

it("a backport is fetched with the mirror and key from the source for the host's release", () => {
  write('apt/sources.list.d/debian.sources', `${SECURITY}\n${STANZA}`);
  expect(planBackport('runsc', etc)?.sources?.split('\n').slice(1)).toEqual([
    'Types: deb',
    'URIs: http://mirror.example/debian',
    'Suites: bookworm-backports',
    'Components: main',
    'Signed-By: /usr/share/keyrings/a.gpg',
    '',
  ]);
});

it('a backport can also take its mirror and key from a source in one-line format', () => {
  write(
    'apt/sources.list',
    '# deb http://off.example a main\ndeb [arch=amd64 signed-by=/k.gpg] http://m.example/d bookworm main\n',
  );
  expect(planBackport('runsc', etc)?.sources).toMatch(
    /\nURIs: http:\/\/m\.example\/d\nSuites: bookworm-backports\nComponents: main\nSigned-By: \/k\.gpg\n$/,
  );
});

it('a backport also takes a key that is written in the source itself', () => {
  const key = ' -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc=\n -----END PGP PUBLIC KEY BLOCK-----';
  write('apt/sources.list.d/debian.sources', STANZA.replace(' /usr/share/keyrings/a.gpg', `\n${key}`));
  expect(planBackport('runsc', etc)?.sources).toContain(`Signed-By:\n${key}\n`);
});

it('a backport pins every other package in its suite, so that apt installs none of them', () => {
  write('apt/sources.list.d/debian.sources', STANZA);
  expect(planBackport('runsc', etc)?.preferences).toBe(`${NOTHING_ELSE}\n${ONLY_RUNSC}`);
});

it('a backport is pinned without a new source if the host already has the suite', () => {
  write(
    'apt/sources.list.d/debian.sources',
    `${STANZA}\n${STANZA.replace(/^Suites.*$/m, 'Suites: bookworm-backports')}`,
  );
  expect(planBackport('runsc', etc)).toEqual({ suite: 'bookworm-backports', sources: null, preferences: ONLY_RUNSC });
});

it("a source that an earlier set-up wrote does not count as the host's own source", () => {
  write('apt/sources.list.d/debian.sources', STANZA);
  write('apt/sources.list.d/svc-backports.sources', STANZA.replace(/^Suites.*$/m, 'Suites: bookworm-backports'));
  expect(planBackport('runsc', etc)?.sources).not.toBeNull();
});

it.each([
  ['another distribution', 'ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n', STANZA],
  ['a release without a name', 'ID=debian\n', STANZA],
  ['a disabled source', 'ID=debian\nVERSION_CODENAME=bookworm\n', `Enabled: no\n${STANZA}`],
  ['another release in the sources', 'ID=debian\nVERSION_CODENAME=trixie\n', STANZA],
  ['sources of source code', 'ID=debian\nVERSION_CODENAME=bookworm\n', STANZA.replace('deb', 'deb-src')],
])('no backport is planned for %s', (_, release, sources) => {
  write('os-release', release);
  write('apt/sources.list.d/debian.sources', sources);
  expect(planBackport('runsc', etc)).toBeNull();
});
