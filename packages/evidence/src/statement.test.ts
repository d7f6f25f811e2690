import { describe, expect, test } from 'vitest';
import { hasPublishedVectors, publishedCases } from '../test/vectors.ts';
import { readStatement } from './statement.ts';

const right = {
  _type: 'https://in-toto.io/Statement/v1',
  subject: [{ name: 'svc://jobs/a/result', digest: { sha256: 'ab'.repeat(32) } }],
  predicateType: 'urn:x',
  predicate: {},
};

describe('an in-toto statement', () => {
  test('is read, and unknown members are ignored', () => {
    expect(readStatement({ ...right, extra: 1 })).toMatchObject({ kind: 'statement' });
  });

  test.each<[string, object]>([
    ['another _type', { _type: 'https://in-toto.io/Statement/v2' }],
    ['no subject', { subject: [] }],
    ['a subject that is not an object', { subject: ['a'] }],
    ['a name that is not a string', { subject: [{ name: 1, digest: { sha256: 'ab'.repeat(32) } }] }],
    ['a media type that is not a string', { subject: [{ mediaType: [], digest: { sha256: 'ab'.repeat(32) } }] }],
    ['an upper-case digest', { subject: [{ digest: { sha256: 'AB'.repeat(32) } }] }],
    ['a digest that is not a string', { subject: [{ digest: { sha256: 1 } }] }],
    ['a good digest beside a bad one', { subject: [{ digest: { sha256: 'ab'.repeat(32), sha512: 'x' } }] }],
    ['an empty predicate type', { predicateType: '' }],
    ['a predicate that is an array', { predicate: [] }],
  ])('a statement with %s is refused', (_name, change) => {
    expect(readStatement({ ...right, ...change })).toMatchObject({ kind: 'refused' });
  });
});

describe.skipIf(!hasPublishedVectors('in-toto'))('the published statement cases', () => {
  const cases = publishedCases<{ name: string; statement: unknown; upstream: string }>('in-toto/statement-cases.json');

  test('are complete: there are twelve', () => {
    expect(cases).toHaveLength(12);
  });

  // Upstream also accepts v0.1 and calls it legacy. The service's profile accepts only v1.
  test.each(cases.map((row) => [row.name, row] as const))(
    'give the published result, except that v0.1 is refused: %s',
    (_name, { statement, upstream }) => {
      expect(readStatement(statement).kind).toBe(upstream === 'ok' ? 'statement' : 'refused');
    },
  );
});
