import { expect, test } from 'vitest';
import { heapMb, heapOption } from './javascript-heap.ts';

test.each([
  [1, 16],
  [48, 16],
  [49, 17],
  [85, 53],
  [86, 53],
  [128, 80],
  [256, 160],
  [4096, 2560],
])('a cell of %i MiB gives the JavaScript heap %i MiB', (memMb, heap) => {
  expect(heapMb(memMb)).toBe(heap);
  expect(heapOption(memMb)).toBe(`--max-heap-size=${heap}`);
});
