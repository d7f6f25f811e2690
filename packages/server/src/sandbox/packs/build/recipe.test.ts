import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freshDirectory, RECIPE } from '../pack.fixture.ts';
import { parseRecipe, readRecipe, recipeSha256 } from './recipe.ts';

const shipped = join(import.meta.dirname, '../../../../../../packs');
const parse = (changes: object) => parseRecipe(JSON.stringify({ ...RECIPE, ...changes }));

describe('a recipe', () => {
  it.each(readdirSync(shipped))('shipped with the service has the name of its file: %s', (file) => {
    expect(`${readRecipe(join(shipped, file)).name}.json`).toBe(file);
  });

  it.each([
    ['has a member that is not known', { suites: 'bookworm' }, '/suites is not known'],
    ['is named as the host’s own pack', { name: 'system' }, '/name'],
    ['would leave the packs directory by its name', { name: '../up' }, '/name'],
    ['would leave the packs directory by its version', { version: '..' }, '/version'],
    ['has a name that is too long', { name: 'a'.repeat(65) }, '/name'],
    ['runs no language', { languages: [] }, '/languages'],
    ['runs a language that is not known', { languages: ['cobol'] }, '/languages/0'],
    ['would give apt an option', { packages: ['-o=x'] }, '/packages/0'],
    ['would have apt remove a package', { packages: ['libc6-'] }, '/packages/0'],
    ['would have apt read a file', { packages: ['./x.deb'] }, '/packages/0'],
    ['would put two packages in one name', { packages: ['a,b'] }, '/packages/0'],
    ['would give mmdebstrap an option', { suite: '--hook' }, '/suite'],
    ['excludes a path outside of /usr', { exclude: ['/etc/fonts'] }, '/exclude/0'],
    ['excludes /usr itself', { exclude: ['/usr'] }, '/exclude/0'],
    ['excludes upwards', { exclude: ['/usr/../etc'] }, '/exclude/0'],
    ['brings its own users', { etc: ['passwd'] }, '/etc'],
    ['brings a path of /etc', { etc: ['fonts/../passwd'] }, '/etc/0'],
    ['sets a variable that every cell has', { environment: { PATH: '/usr/bin' } }, '/environment/PATH'],
    ['steers the loader', { environment: { LD_PRELOAD: 'x.so' } }, '/environment/LD_PRELOAD'],
    ['sets a variable that is not named as one', { environment: { 'A B': '1' } }, '/environment/A B'],
    ['sets a variable to two lines', { environment: { A: '1\nB=2' } }, '/environment/A'],
  ])('a recipe that %s is refused, and the message says where', (_, changes, pointer) => {
    expect(() => parse(changes)).toThrow(expect.objectContaining({ name: 'PackError' }));
    expect(() => parse(changes)).toThrow(pointer);
  });

  it.each([
    { name: 'a'.repeat(64) },
    { packages: ['libstdc++6', 'g++', 'python3-numpy=1:1.24.2-1+deb12u1'] },
    { environment: { OPENBLAS_NUM_THREADS: '4' } },
    { exclude: ['/usr/share/doc', '/usr/share/..data'] },
  ])('may say %j', (changes) => {
    expect(parse(changes)).toEqual({ ...RECIPE, ...changes });
  });

  it('a recipe that is not JSON is refused with the name of its file', () => {
    const file = join(freshDirectory(), 'broken.json');
    writeFileSync(file, '{');
    expect(() => readRecipe(file)).toThrow(`${file}: not JSON`);
  });

  it('has one digest, however it is formatted', () => {
    const reversed = Object.fromEntries(Object.entries(RECIPE).toReversed());
    expect(recipeSha256(parseRecipe(JSON.stringify(reversed, null, 4)))).toBe(recipeSha256(RECIPE));
    expect(recipeSha256({ ...RECIPE, version: '2' })).not.toBe(recipeSha256(RECIPE));
  });
});
