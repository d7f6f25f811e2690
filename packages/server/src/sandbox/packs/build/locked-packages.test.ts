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
});

const ENTRY = { version: '1.0.0', resolved: 'https://example.org/a.tgz', integrity: `sha512-${'A'.repeat(86)}==` };
const lock = (packages: object) => JSON.stringify({ lockfileVersion: 3, packages: { '': {}, ...packages } });

describe('a lockfile of npm', () => {
  it.each(['node_modules/a', 'node_modules/@b/c', 'node_modules/a/node_modules/@b/c.d'])('may have %s', (place) => {
    expect(Object.keys(checkLockfile(lock({ [place]: ENTRY })).packages)).toContain(place);
  });

  it.each([
    ['no package', lock({})],
    ['no digest', lock({ 'node_modules/a': { ...ENTRY, integrity: undefined } })],
    ['a weak digest', lock({ 'node_modules/a': { ...ENTRY, integrity: 'sha1-AAAA' } })],
    ['a package of git', lock({ 'node_modules/a': { ...ENTRY, resolved: 'git+ssh://git@example.org/a.git' } })],
    ['a link to a folder', lock({ 'node_modules/a': { resolved: '../a', link: true } })],
    ['a place outside of its folder', lock({ 'node_modules/../../a': ENTRY })],
    ['a place outside of node_modules', lock({ 'packages/a': ENTRY })],
    ['a version of another kind', JSON.stringify({ lockfileVersion: 1, dependencies: {} })],
    ['no JSON', '{'],
  ])('a lockfile that has %s is refused', (_, text) => {
    expect(() => checkLockfile(text)).toThrow(expect.objectContaining({ name: 'PackError' }));
  });
});
