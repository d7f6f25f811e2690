import { expect, test } from 'vitest';
import { giveBack } from './give-back.ts';

test('large buffers are freed at once when they are given back', () => {
  const bytes = new Uint8Array(100_000);
  giveBack(bytes);
  expect(bytes.length).toBe(0);
});

test('a small buffer that is given back is kept, because Node keeps other data in the same memory', () => {
  const bytes = Buffer.from('a few');
  const others = Buffer.from('others');
  giveBack(bytes);
  expect([bytes.toString(), others.toString()]).toEqual(['a few', 'others']);
});
