import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { foldOutput, outputEvidence } from './output.ts';

const sha256 = (text: string) => createHash('sha256').update(text, 'utf8').digest('hex');

describe('folding', () => {
  test('adds a newline after every record that is not partial', { tags: ['Result-5'] }, () => {
    expect(foldOutput([{ text: 'a' }, { text: '' }, { text: 'b', partial: true }])).toBe('a\n\nb');
    expect(foldOutput([{ text: 'a', partial: true }, { text: 'b' }])).toBe('ab\n');
  });

  test('gives the empty string for no records', () => {
    expect(foldOutput([])).toBe('');
  });
});

describe('output evidence (Spec § Receipt, output)', () => {
  test('covers the UTF-8 of the output texts joined by one line feed, without a final line feed', {
    tags: ['Receipt-12'],
  }, () => {
    const evidence = outputEvidence([
      { kind: 'started', data: {} },
      { kind: 'stdout', data: { text: 'hé' } },
      { kind: 'stderr', data: { text: 'oops', partial: true } },
      { kind: 'stdout', data: { text: 'x', partial: true } },
    ]);
    expect(evidence).toEqual({
      encoding: 'utf8-event-lines-joined-by-lf-no-trailing-lf',
      stdout_bytes: 5,
      stdout_records: 2,
      stdout_sha256: sha256('hé\nx'),
      stderr_bytes: 4,
      stderr_records: 1,
      stderr_sha256: sha256('oops'),
    });
  });

  test('a silent program has the digest of no bytes', () => {
    expect(outputEvidence([])).toMatchObject({ stdout_bytes: 0, stdout_records: 0, stdout_sha256: sha256('') });
  });

  test('counts an empty line as a record of no bytes', () => {
    expect(outputEvidence([{ kind: 'stdout', data: { text: '' } }])).toMatchObject({
      stdout_bytes: 0,
      stdout_records: 1,
    });
  });
});
