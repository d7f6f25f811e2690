import { describe, expect, it } from 'vitest';
import { checkLockfile, checkRequirements } from './locked-packages.ts';

const HASH = `--hash=sha256:${'a'.repeat(64)}`;

describe('a requirements file', () => {
  it.each([
    `six==1.17.0 ${HASH}`,
    `# a remark\nsix==1.17.0 \\\n    ${HASH} \\\n    ${HASH}\n    # via other\n`,
    `uvicorn[standard]==0.30.1 ; python_version >= "3.8" ${HASH}`,
  ])('a file with the version and hash of each wheel is accepted: %j', (text) => {
    expect(checkRequirements(text)).toBe(text);
  });

  it.each([
    ['no hash', 'six==1.17.0'],
    ['a range of versions', `six>=1 ${HASH}`],
    ['another file', `-r other.txt`],
    ['an index', `--index-url https://example.org/simple`],
    ['a source to build', `--no-binary :all:`],
    ['an option after a hash', `six==1.17.0 ${HASH} --no-binary=six`],
    ['an option in a marker', `six==1.17.0 ; --no-binary=:all: ${HASH}`],
    ['an option on a continued line', `six==1.17.0 \\\n --config-settings=a=b ${HASH}`],
    ['a variable', `\${NAME}==1 ${HASH}`],
    ['an address', `six @ https://example.org/six.whl ${HASH}`],
    ['a folder', `./six ${HASH}`],
    ['an editable folder', `-e . ${HASH}`],
    ['another digest', `six==1.17.0 --hash=md5:${'a'.repeat(32)}`],
    ['nothing', '# nothing\n'],
  ])('a file that names %s is refused', (_, text) => {
    expect(() => checkRequirements(text)).toThrow(expect.objectContaining({ name: 'PackError' }));
  });

  it('whose hash is too short is refused with the length of that hash', () => {
    expect(() => checkRequirements(`six==1.17.0 ${HASH.slice(0, -1)}\n`)).toThrow('one here has 63 characters');
  });

  const SIX = `six==1.17.0 ${HASH}\n`;
  it.each<readonly [number, string, string]>([
    [2, 'a comment that ends in a backslash', `${SIX}# note \\\n--no-binary :all:\n`],
    [2, 'a comment that ends in a backslash before CRLF', `${SIX}# note \\\r\n--no-binary :all:\r\n`],
    [1, 'a comment behind a requirement that ends in a backslash', `six==1.17.0 ${HASH} # note \\\n`],
    ...['\v', '\f', '\x1c', '\x1d', '\x1e', '\x85', '\u2028', '\u2029', '\r'].map(
      (end) => [2, JSON.stringify(end), `${SIX}# note${end}--no-binary :all:\n`] as const,
    ),
    [1, 'an encoding', `# coding: utf-7\n${SIX}# note+AAo---no-binary :all:\n`],
    [2, 'an encoding in its second line', `# note\n# -*- coding=unicode_escape -*-\n${SIX}# \\n--no-binary :all: .\n`],
  ])('a file is refused at line %i, from which pip would read other lines, because of %s', (line, _, text) => {
    expect(() => checkRequirements(text)).toThrow(
      expect.objectContaining({ name: 'PackError', message: expect.stringMatching(`^line ${line} `) }),
    );
  });

  it('may have CRLF line ends, and comments with a backslash or the word coding', () => {
    const text = `# of C:\\a, for coding\r\n\tsix==1.17.0 \\\r\n    ${HASH} # é\r\n# coding: here pip looks for none\r\n`;
    expect(checkRequirements(text)).toBe(text);
  });
});

const ENTRY = { version: '1.0.0', resolved: 'https://example.org/a.tgz', integrity: `sha512-${'A'.repeat(86)}==` };
const lock = (packages: object) => JSON.stringify({ lockfileVersion: 3, packages: { '': {}, ...packages } });

describe('an npm lockfile', () => {
  it.each(['node_modules/a', 'node_modules/@b/c', 'node_modules/a/node_modules/@b/c.d'])('may have %s', (place) => {
    expect(Object.keys(checkLockfile(lock({ [place]: ENTRY })).packages)).toContain(place);
  });

  it('may have a package whose name differs from its path, from any registry', () => {
    const resolved = 'https://npm.example.org:8443/@b/c/-/c-1.0.0-rc.1.tgz';
    const text = lock({
      'node_modules/a': { ...ENTRY, name: '@b/c', version: '1.0.0-rc.1+d', resolved, inBundle: false },
    });
    expect(checkLockfile(text).packages).toHaveProperty(['node_modules/a', 'resolved'], resolved);
  });

  it.each([
    ['no package', lock({})],
    ['no digest', lock({ 'node_modules/a': { ...ENTRY, integrity: undefined } })],
    ['a weak digest', lock({ 'node_modules/a': { ...ENTRY, integrity: 'sha1-AAAA' } })],
    ['a package of git', lock({ 'node_modules/a': { ...ENTRY, resolved: 'git+ssh://git@example.org/a.git' } })],
    ['a link to a folder', lock({ 'node_modules/a': { resolved: '../a', link: true } })],
    ['a package that is a link', lock({ 'node_modules/a': { ...ENTRY, link: true } })],
    ['a package inside of another', lock({ 'node_modules/a': { ...ENTRY, inBundle: true } })],
    ['the address of no archive', lock({ 'node_modules/a': { ...ENTRY, resolved: 'https://example.org/o/r' } })],
    ['a query', lock({ 'node_modules/a': { ...ENTRY, resolved: 'https://example.org/a?b.tgz' } })],
    ['a fragment', lock({ 'node_modules/a': { ...ENTRY, resolved: 'https://example.org/a#b.tgz' } })],
    ...[
      'github.com',
      'www.github.com',
      'gist.github.com',
      'gitlab.com',
      'bitbucket.org',
      'git.sr.ht',
      'github.com:443',
      'GitHub.com',
      '%67ithub.com',
      'a:b@github.com',
      '/github.com',
    ].map((host) => [
      `an address that npm takes for Git's at ${host}`,
      lock({ 'node_modules/a': { ...ENTRY, resolved: `https://${host}/o/r.tgz` } }),
    ]),
    [
      'a version that is an address',
      lock({ 'node_modules/a': { ...ENTRY, resolved: undefined, version: 'github:o/r' } }),
    ],
    ['a name that is an address', lock({ 'node_modules/a': { ...ENTRY, resolved: undefined, name: 'a@github:o/r#' } })],
    ['a place outside of its folder', lock({ 'node_modules/../../a': ENTRY })],
    ['a place outside of node_modules', lock({ 'packages/a': ENTRY })],
    ['a version of another kind', JSON.stringify({ lockfileVersion: 1, dependencies: {} })],
    ['no JSON', '{'],
  ])('a lockfile that has %s is refused', (_, text) => {
    expect(() => checkLockfile(text)).toThrow(expect.objectContaining({ name: 'PackError' }));
  });
});
