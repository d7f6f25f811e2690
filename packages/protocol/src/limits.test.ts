import { describe, expect, test } from 'vitest';
import * as limits from './limits.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

describe('the numbers of the contract (Spec § Limits)', { tags: ['Limits-25'] }, () => {
  test.each<[string, number, number]>([
    ['source size', limits.codeBytesMax, MIB],
    ['stdin size', limits.stdinBytesMax, MIB],
    ['input files and requested outputs', limits.filesMax, 32],
    ['bytes per file', limits.fileBytesMax, 2 * MIB],
    ['bytes of all files', limits.filesTotalBytesMax, 4 * MIB],
    ['encoded request body', limits.bodyBytesMax, 24 * MIB],
    ['body read deadline', limits.bodyMillisecondsMax, 30_000],
    ['stored bytes per stream', limits.streamBytesMax, MIB],
    ['stored records per stream', limits.streamRecordsMax, 10_000],
    ['single output record', limits.recordBytesMax, 16 * KIB],
    ['Idempotency-Key', limits.idempotencyKeyBytesMax, 128],
    ['wait_seconds', limits.waitSecondsMax, 300],
    ['response pump', limits.responsePumpBytes, 64 * KIB],
    ['write-progress deadline', limits.writeProgressMillisecondsMax, 30_000],
    ['concurrent connections', limits.connectionsMax, 256],
    ['request-head time', limits.headMillisecondsMax, 30_000],
    ['absolute connection lifetime', limits.connectionMillisecondsMax, 600_000],
    ['result artifact', limits.resultArtifactBytesMax, 16 * MIB],
    ['DSSE envelope', limits.envelopeBytesMax, 2 * MIB],
  ])('include %s', (_name, actual, specified) => {
    expect(actual).toBe(specified);
  });

  test('have a positive default for every limit, and a ceiling at least as high', { tags: ['Submission-23'] }, () => {
    for (const name of limits.LIMIT_NAMES) {
      expect(limits.LIMIT_DEFAULTS[name]).toBeGreaterThan(0);
      expect(limits.LIMIT_CEILINGS[name]).toBeGreaterThanOrEqual(limits.LIMIT_DEFAULTS[name]);
    }
  });

  test('allow fractions only for limits of time', () => {
    expect([...limits.FRACTIONAL_LIMITS]).toEqual(['wall_seconds', 'cpu_seconds']);
  });

  test('leave room for source and stdin in a body whose files have the maximum size', () => {
    const encodedFiles = Math.ceil(limits.filesTotalBytesMax / 3) * 4;
    // JSON may spell each byte of text in six characters.
    const escapedText = 6 * (limits.codeBytesMax + limits.stdinBytesMax);
    expect(encodedFiles + escapedText).toBeLessThan(limits.bodyBytesMax);
  });
});
