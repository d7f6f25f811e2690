import { expect, test } from 'vitest';
import { pictureTypeOf } from './picture-type.ts';

const bytesOf = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));

test.each([
  ['\u0089PNG\r\n\u001A\n…', 'image/png'],
  ['\u00FF\u00D8\u00FF\u00E0', 'image/jpeg'],
  ['GIF89a', 'image/gif'],
  ['RIFF\0\0\0\0WEBPVP8 ', 'image/webp'],
  ['\u0089PNG', null],
  ['RIFF\0\0\0\0WAVE', null],
  ['<svg xmlns="http://www.w3.org/2000/svg"/>', null],
  ['', null],
])('%j is of type %s', (text, type) => {
  expect(pictureTypeOf(bytesOf(text))).toBe(type);
});
