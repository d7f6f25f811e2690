import {
  fileBytesMax,
  filesTotalBytesMax,
  largeOutputsBytesMax,
  namedFilesTotalBytesMax,
} from '@vouchbox/protocol/vocabulary';
import { describe, expect, test } from 'vitest';
import { ExportBounds } from './export-bounds.ts';
import { EXPORT_MANIFEST } from './job-export.ts';

/** The answers about the files, which are added one after another. */
function problems(...files: readonly [path: string, size_bytes: number][]): (string | null)[] {
  const bounds = new ExportBounds();
  return files.map(([path, size_bytes]) => bounds.add(path, size_bytes));
}

describe('an export may have', { tags: ['Limits-4a'] }, () => {
  test('input files of 64 MiB, in one file or in several, and no byte more', () => {
    const all = namedFilesTotalBytesMax;
    expect(problems(['input/a', all])).toEqual([null]);
    expect(problems(['input/a', all + 1])).toEqual(['is larger than 64 MiB, the most that an export may have of it']);
    expect(problems(['input/a', all - 1], ['input/b', 1], ['input/c', 1])).toEqual([
      null,
      null,
      'makes input/ larger than 64 MiB, the most it may have',
    ]);
  });

  test('output files of up to 64 MiB each and up to 68 MiB together', () => {
    const [large, all] = [largeOutputsBytesMax, largeOutputsBytesMax + filesTotalBytesMax];
    expect(problems(['output/a', large], ['output/b', all - large], ['output/c', 0])).toEqual([null, null, null]);
    expect(problems(['output/a', large + 1])).toEqual([expect.stringContaining('64 MiB')]);
    expect(problems(['output/a', large], ['output/b', all - large], ['output/c', 1])).toEqual([
      null,
      null,
      expect.stringContaining('68 MiB'),
    ]);
  });

  test('input files of the maximum total size together with output files', () => {
    expect(problems(['input/a', namedFilesTotalBytesMax], ['output/a', fileBytesMax])).toEqual([null, null]);
  });

  test('only files with known names, and at most 108 of them', () => {
    expect(problems(['README.md', 1])).toEqual(['is not a file of an export']);
    const files = Array.from({ length: 109 }, (_, at): [string, number] => [`input/${at}`, 0]);
    expect(problems(...files).indexOf('exceeds the 108 files that an export may have')).toBe(108);
    expect(problems([EXPORT_MANIFEST, 256 * 1024 + 1])).toEqual([expect.stringContaining('256 KiB')]);
  });
});
