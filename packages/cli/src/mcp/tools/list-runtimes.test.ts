/** The text about a pack's libraries, as a model reads it. */
import { expect, test } from 'vitest';
import { libraryLine } from './list-runtimes.ts';

const pack = (...libraries: readonly (readonly [name: string, version: string | null, modules: readonly string[]])[]) =>
  libraryLine({
    name: 'data',
    version: '1',
    languages: ['python'],
    digest: '0'.repeat(64),
    libraries: libraries.map(([name, version, modules]) => ({
      language: 'python',
      name,
      version,
      modules: [...modules],
    })),
  });

test('a library is listed by its own name; its import name is added if the two differ', () => {
  expect(
    pack(
      ['numpy', '1.24.2', ['numpy']],
      ['matplotlib', '3.6.3', ['matplotlib', 'mpl_toolkits', 'pylab']],
      ['Pillow', '9.4.0', ['PIL']],
      ['six', null, ['six']],
    ),
  ).toEqual(['libraries of data: numpy 1.24.2, matplotlib 3.6.3, Pillow 9.4.0 (import PIL), six']);
});

test('the list of libraries is cut for a large pack, and says how many libraries are left out', () => {
  const many = Array.from({ length: 130 }, (_, index) => [`m${index}`, null, [`m${index}`]] as const);
  expect(pack(...many)[0]).toMatch(/, m119, and 10 more$/);
});
