import { expect, test } from 'vitest';
import { UsageError } from '../failures/usage-error.ts';
import { checkInputPath, checkOutputPath } from './given-paths.ts';

test.each([
  ['plot.png', 'is not under output/; try --output output/plot.png'],
  ['plot.png=here.png', 'try --output output/plot.png=here.png'],
  ['a b', "try --output 'output/a b'"],
  ['output', "try --output 'output/**'"],
  ['output/', "try --output 'output/**'"],
  ['output/*', "try --output 'output/**'"],
  ['plots/*', "try --output 'output/plots/**'"],
  ['output/a*.png', 'only output/** and output/DIRECTORY/** are'],
  ['/etc/passwd', 'is absolute'],
  ['../x', 'is not under output/'],
])('--output %s is wrong usage, and the message explains the mistake or suggests an option', (given, message) => {
  const check = () => checkOutputPath(given.split('=')[0] ?? '', given);
  expect(check).toThrow(UsageError);
  expect(check).toThrow(`--output ${given} `);
  expect(check).toThrow(message);
});

test.each(['output/a', 'output/**', 'output/plots/**', 'output/with space'])('--output %s is accepted', (given) => {
  expect(() => checkOutputPath(given, given)).not.toThrow();
});

test('--file with a path outside input/ is wrong usage, and the message suggests a path below input/', () => {
  expect(() => checkInputPath('input/a', 'input/a=b')).not.toThrow();
  expect(() => checkInputPath('a', 'a=b')).toThrow('--file a=b is not under input/; try --file input/a=b');
  expect(() => checkInputPath('../a', '../a=b')).toThrow('--file ../a=b is not under input/');
});
