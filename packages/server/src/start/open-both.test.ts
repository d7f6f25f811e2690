import { expect, test } from 'vitest';
import { openBoth } from './open-both.ts';

function part(name: string, disposed: string[]) {
  return { name, [Symbol.asyncDispose]: async () => void disposed.push(name) };
}

test('two parts that open are both returned', async () => {
  const disposed: string[] = [];
  const parts = await openBoth(Promise.resolve(part('one', disposed)), Promise.resolve(part('other', disposed)));
  expect([parts.map(({ name }) => name), disposed]).toEqual([['one', 'other'], []]);
});

test('if one of two parts fails to open, the other is disposed, even if it opens later', async () => {
  const disposed: string[] = [];
  const late = Promise.withResolvers<ReturnType<typeof part>>();
  const opened = openBoth(Promise.reject(new Error('refused')), late.promise);
  late.resolve(part('late', disposed));
  await expect(opened).rejects.toThrow('refused');
  expect(disposed).toEqual(['late']);
});

test('if both parts fail to open, the first part’s failure is thrown, even if the second part fails earlier', async () => {
  const late = Promise.withResolvers<ReturnType<typeof part>>();
  const opened = openBoth(late.promise, Promise.reject(new Error('the second')));
  late.reject(new Error('the first'));
  await expect(opened).rejects.toThrow('the first');
});
