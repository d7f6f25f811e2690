import { expect, test } from 'vitest';
import { type KeptText, KeptTexts } from './kept-texts.ts';

function textOf(bytes: number): KeptText {
  return { bytes, pieces: [{ after: 0, last: 1, content: new Uint8Array(bytes) }] };
}

test('kept texts are bounded in bytes, and the oldest are dropped first', () => {
  const texts = new KeptTexts(10);
  for (const name of ['a', 'b', 'c']) texts.keep(name, textOf(4));
  expect(texts.get('a')).toBeUndefined();
  expect([texts.get('b')?.bytes, texts.get('c')?.bytes]).toEqual([4, 4]);
  texts.keep('d', textOf(11));
  expect(texts.get('d')).toBeUndefined();
  texts.keep('e', textOf(10));
  expect([texts.get('b'), texts.get('c'), texts.get('e')?.bytes]).toEqual([undefined, undefined, 10]);
});
