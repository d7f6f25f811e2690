import { describe, expect, test } from 'vitest';
import { BUILD_OPTIONS, isBuildOption } from './build-options.ts';

/** The options listed in a text of the contract. `start` precedes each, and values replace `N`, `NAME` and `VALUE`. */
function told(text: string, start = ''): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(
    ([, word = '']) => start + word.replace(/N$|NAME|VALUE/g, '1').replace('-D1', '-DA'),
  );
}

const [native = '', java = ''] = BUILD_OPTIONS.split(' For Java: ');
const [whole = '', either = ''] = native.split('and with `-f` or `-fno-`: ');

describe('an option of a compiler', () => {
  test.each([...told(whole), ...told(either, '-f'), ...told(either, '-fno-')])(
    'is allowed for C and C++ if the contract lists the option: %s',
    (option) => {
      expect([isBuildOption('c', option), isBuildOption('cpp', option)]).toEqual([true, true]);
    },
  );

  test.each(told(java))('is allowed for Java if the contract lists the option: %s', (option) => {
    expect(isBuildOption('java', option)).toBe(true);
  });

  test.each(['-fplugin=a.so', '-Wl,-z', '@a', '-march=native', '-specs=a', '-B/a', '-wrapper', '-Ia', '-processor'])(
    'is refused for every language if it can run code, read a file or depend on the processor: %s',
    (option) => {
      expect((['c', 'cpp', 'java', 'python'] as const).filter((language) => isBuildOption(language, option))).toEqual(
        [],
      );
    },
  );
});
