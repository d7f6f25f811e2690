import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freshDirectory, plantTree, RECIPE } from '../pack.fixture.ts';
import type { Recipe } from './recipe.ts';
import { trimTree } from './trim-tree.ts';

function trimmed(prepare: (built: string) => void, recipe: Partial<Recipe> = {}): string {
  const directory = freshDirectory();
  const built = plantTree(join(directory, 'built'));
  prepare(built);
  mkdirSync(join(directory, 'pack'));
  trimTree(built, join(directory, 'pack'), { ...RECIPE, ...recipe });
  return join(directory, 'pack');
}

const asItIs = () => {};

function replaceByLink(path: string, target: string) {
  return (built: string) => {
    rmSync(join(built, path), { recursive: true, force: true });
    symlinkSync(target, join(built, path));
  };
}

describe('the tree of a pack', () => {
  it('has a /usr and an /etc, and nothing else of the build', () => {
    const pack = trimmed(asItIs);
    expect(readdirSync(pack).toSorted()).toEqual(['etc', 'usr']);
    expect(readdirSync(join(pack, 'etc')).toSorted()).toEqual([
      'alternatives',
      'environment',
      'group',
      'hostname',
      'hosts',
      'nsswitch.conf',
      'passwd',
      'resolv.conf',
    ]);
    expect(readFileSync(join(pack, 'etc/passwd'), 'utf8')).toContain('runner:x:1000:');
  });

  it('belongs to root, is writable only for root, and has no set-user-id file', () => {
    const pack = trimmed(asItIs);
    const { uid, gid, mode } = lstatSync(join(pack, 'usr/bin/su'));
    expect({ uid, gid, mode: mode & 0o7777 }).toEqual({ uid: 0, gid: 0, mode: 0o555 });
    expect(lstatSync(join(pack, 'usr/lib/data.txt')).mode & 0o7777).toBe(0o444);
    expect(lstatSync(join(pack, 'usr/lib')).mode & 0o7777).toBe(0o555);
  });

  it('holds no device, no pipe and no socket', () => {
    const pack = trimmed((built) => {
      execFileSync('/bin/mknod', [join(built, 'usr/lib/null'), 'c', '1', '3']);
      execFileSync('/bin/mknod', [join(built, 'usr/lib/pipe'), 'p']);
    });
    expect(readdirSync(join(pack, 'usr/lib')).toSorted()).toEqual(['data.txt', 'link']);
  });

  it('keeps the parts of /etc that its recipe lists, and drops what the recipe excludes', () => {
    const exclude = ['/usr/include', '/usr/lib/nothing/there'];
    const pack = trimmed(asItIs, { etc: ['fonts'], exclude, environment: { A: '1', B: 'two' } });
    expect(readFileSync(join(pack, 'etc/fonts/fonts.conf'), 'utf8')).toBe('fonts');
    expect(readFileSync(join(pack, 'etc/environment'), 'utf8')).toBe('A=1\nB=two\n');
    expect(readdirSync(join(pack, 'usr')).toSorted()).toEqual(['bin', 'lib']);
  });

  it.each([
    ['usr', '/', '/usr is not a directory'],
    ['etc', '/etc', '/etc is not a directory'],
    ['dev', '/dev', '/dev is not a directory'],
    ['proc', '/proc', '/proc is not a directory'],
    ['sys', '/sys', '/sys is not a directory'],
    ['tmp', '/tmp', '/tmp is not a directory'],
    ['work', '/', '/work is not an entry that a pack may bring'],
    ['svc', '/', '/svc is not an entry that a pack may bring'],
    ['bin', '/', '/bin leads into / instead of usr/bin'],
    ['lib', '../lib', '/lib leads into ../lib instead of usr/lib'],
  ])('is refused if the build planted a link at %s (ESC-18)', { tags: ['ESC-18'] }, (path, target, message) => {
    expect(() => trimmed(replaceByLink(path, target))).toThrow(message);
  });

  it('is refused if its recipe excludes a path that leads through a symbolic link', () => {
    const through = { exclude: ['/usr/lib/out/passwd'] };
    expect(() => trimmed(replaceByLink('usr/lib/out', '/etc'), through)).toThrow('not a directory');
    expect(readFileSync('/etc/passwd', 'utf8')).toContain('root:');
  });

  it('is refused if a part of /etc that its recipe lists is missing', () => {
    expect(() => trimmed(asItIs, { etc: ['ghost'] })).toThrow('/etc/ghost was not installed');
  });
});
