import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { freshDirectory } from '../pack.fixture.ts';
import { readAptSources } from './apt-sources.ts';

const WANTED = { suite: 'bookworm', components: ['main'] };

function hostWith(files: Readonly<Record<string, string>>): string {
  const directory = freshDirectory();
  mkdirSync(join(directory, 'sources.list.d'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  return directory;
}

it('a build takes from the host’s package sources only lines for its release, narrowed to the needed parts', () => {
  const directory = hostWith({
    'sources.list': [
      '# deb http://a.example bookworm main',
      'deb http://a.example/debian bookworm main contrib # the archive',
      'deb-src http://a.example/debian bookworm main',
      'deb [signed-by=/k.gpg arch=amd64] http://b.example bookworm-security main',
      'deb http://a.example bookworm-backports main',
      'deb http://a.example trixie main',
      'deb http://c.example bookworm stable',
    ].join('\n'),
  });
  expect(readAptSources(WANTED, directory)).toEqual({
    oneLine:
      'deb http://a.example/debian bookworm main\ndeb [signed-by=/k.gpg arch=amd64] http://b.example bookworm-security main',
    deb822: '',
  });
});

it('a build takes only the deb822 paragraphs for its release, with their keys', () => {
  const directory = hostWith({
    'sources.list.d/debian.sources': [
      'Types: deb deb-src',
      '# a comment',
      'URIs: http://a.example/debian',
      'suites: bookworm bookworm-updates bookworm-backports',
      'Components: main contrib',
      'Signed-By:',
      ' -----BEGIN PGP PUBLIC KEY BLOCK-----',
      ' .',
      ' abc',
      '',
      'Types: deb',
      'Enabled: no',
      'URIs: http://off.example',
      'Suites: bookworm',
      'Components: main',
      '',
      'Types: deb',
      'URIs: http://other.example',
      'Suites: nodistro',
      'Components: main',
    ].join('\n'),
  });
  expect(readAptSources(WANTED, directory).deb822.split('\n')).toEqual([
    'Types: deb',
    'URIs: http://a.example/debian',
    'Suites: bookworm bookworm-updates',
    'Components: main',
    'Signed-By:',
    ' -----BEGIN PGP PUBLIC KEY BLOCK-----',
    ' .',
    ' abc',
  ]);
});

it('a build gets no package sources if the host has none', () => {
  expect(readAptSources(WANTED, join(freshDirectory(), 'nowhere'))).toEqual({ oneLine: '', deb822: '' });
});
