import { createHash } from 'node:crypto';
import { type OutputRecord, outputText, recordBytesMax, streamBytesMax, streamRecordsMax } from '@vouchbox/protocol';
import fc from 'fast-check';
import { describe, expect, inject, it } from 'vitest';
import { OutputCapture } from './output.ts';

function capture(...chunks: readonly (string | Uint8Array)[]) {
  const records: OutputRecord[] = [];
  const output = new OutputCapture((batch) => records.push(...batch));
  for (const chunk of chunks) output.write(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  return { telemetry: output.end(), records, folded: fold(records) };
}

const fold = (records: readonly OutputRecord[]) => records.map(outputText).join('');

describe('recording a stream', () => {
  it('makes one record of a line, without its newline', () => {
    expect(capture('a\nb\n').records).toEqual([{ text: 'a' }, { text: 'b' }]);
  });

  it('marks a last line without newline as partial', () => {
    expect(capture('a\nb').records).toEqual([{ text: 'a' }, { text: 'b', partial: true }]);
  });

  it('keeps empty lines', () => {
    expect(capture('\n\na\n').records).toEqual([{ text: '' }, { text: '' }, { text: 'a' }]);
  });

  it('splits a line at 16 KiB and never inside a character (Spec § Events 5)', () => {
    const { records, folded } = capture(`${'é'.repeat(9000)}\n`);
    expect(records.map((record) => Buffer.byteLength(record.text))).toEqual([16384, 1616]);
    expect(records[0]?.partial).toBe(true);
    expect(folded).toBe(`${'é'.repeat(9000)}\n`);
  });

  it('makes no empty record of a line of exactly 16 KiB', () => {
    expect(capture(`${'x'.repeat(16384)}\n`).records.map((record) => record.text.length)).toEqual([16384]);
  });

  it('joins a character that arrives in two reads', () => {
    const bytes = Buffer.from('a€b\n');
    expect(capture(bytes.subarray(0, 2), bytes.subarray(2)).folded).toBe('a€b\n');
  });

  it('replaces bytes that are not UTF-8 and continues', () => {
    expect(capture(Uint8Array.of(0x61, 0xff, 0x62, 0x0a, 0xe2, 0x82, 0x0a)).folded).toBe('a\ufffdb\n\ufffd\n');
  });

  it('keeps a byte order mark, which is text like any other', () => {
    expect(capture(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61, 0x0a)).folded).toBe('\ufeffa\n');
  });

  it.each([
    [streamRecordsMax - 1, false],
    [streamRecordsMax, false],
    [streamRecordsMax + 1, true],
  ])('a stream of %i lines is truncated: %s (Spec § Limits, 10,000 records)', (lines, truncated) => {
    const { records, telemetry } = capture('x\n'.repeat(lines));
    expect(records.length).toBe(Math.min(lines, streamRecordsMax));
    expect(telemetry.executor_truncated).toBe(truncated);
    expect(telemetry.bytes_seen).toBe(lines * 2);
  });

  it.each([
    [streamBytesMax - 1, false],
    [streamBytesMax, false],
    [streamBytesMax + 1, true],
  ])('a stream of %i bytes is truncated: %s (Spec § Limits, 1 MiB)', (bytes, truncated) => {
    const { folded, telemetry } = capture('y'.repeat(bytes));
    expect(folded.length).toBe(Math.min(bytes, streamBytesMax));
    expect(telemetry.executor_truncated).toBe(truncated);
    expect(telemetry.bytes_offered_to_sink).toBe(folded.length);
  });

  it.each([
    ['records', ['x\n'.repeat(streamRecordsMax), 'y\n', 'more\n'], 2 * streamRecordsMax, streamRecordsMax],
    ['bytes', ['x'.repeat(streamBytesMax), 'y\n', 'more\n'], streamBytesMax, streamBytesMax / recordBytesMax],
  ])(
    'reports an exceeded bound of %s once, at the moment when the stream exceeds it',
    (_cap, chunks, bytes_stored, records_stored) => {
      const told: unknown[] = [];
      const output = new OutputCapture((_records, cut) => cut && told.push(cut));
      const [whole, over, after] = chunks as [string, string, string];
      output.write(Buffer.from(whole));
      expect(told).toEqual([]);
      output.write(Buffer.from(over));
      expect(told).toEqual([{ bytes_seen: bytes_stored + 2, bytes_stored, records_stored }]);
      output.write(Buffer.from(after));
      output.end();
      expect(told).toHaveLength(1);
    },
  );

  it('reports an exceeded bound together with the last records', () => {
    const offered: [number, unknown][] = [];
    const output = new OutputCapture((records, cut) => offered.push([records.length, cut]));
    output.write(Buffer.from('x\n'.repeat(streamRecordsMax + 7)));
    const cut = { bytes_stored: 2 * streamRecordsMax, records_stored: streamRecordsMax };
    expect(offered).toEqual([[streamRecordsMax, { bytes_seen: 2 * (streamRecordsMax + 7), ...cut }]]);
  });

  it('also counts and hashes the bytes beyond the bound', () => {
    const flood = Buffer.alloc(3 * streamBytesMax, 'A');
    const { telemetry } = capture(flood.subarray(0, 100), flood.subarray(100));
    expect(telemetry.bytes_seen).toBe(flood.byteLength);
    expect(telemetry.raw_sha256).toBe(createHash('sha256').update(flood).digest('hex'));
  });

  it('gives the exact text again when the records are joined, however the reads were split', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'binary', maxLength: 40 })),
        fc.integer({ min: 1, max: 9 }),
        (lines, step) => {
          const text = lines.join('\n').toWellFormed();
          const bytes = Buffer.from(text);
          const chunks: Uint8Array[] = [];
          for (let at = 0; at < bytes.length; at += step) chunks.push(bytes.subarray(at, at + step));
          expect(capture(...chunks).folded).toBe(text);
        },
      ),
      { seed: inject('propertySeed') },
    );
  });

  it('replaces invalid bytes as if the whole stream were decoded at once', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.integer({ min: 1, max: 7 }), (bytes, step) => {
        const chunks: Uint8Array[] = [];
        for (let at = 0; at < bytes.length; at += step) chunks.push(bytes.subarray(at, at + step));
        expect(capture(...chunks).folded).toBe(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes));
      }),
      { seed: inject('propertySeed') },
    );
  });
});
