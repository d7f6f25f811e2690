import { expect, test } from 'vitest';
import { preferredFormat } from './metrics-format.ts';

test.each([
  ['nothing', undefined, 'text'],
  ['anything', '*/*', 'text'],
  ['the empty list', '', 'text'],
  ['an unknown format', 'application/json', 'text'],
  ['plain text', 'text/plain', 'text'],
  ['OpenMetrics', 'application/openmetrics-text', 'openmetrics'],
  ['OpenMetrics of a version', 'application/openmetrics-text; version=1.0.0; charset=utf-8', 'openmetrics'],
  [
    'what Prometheus sends',
    'application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.1',
    'openmetrics',
  ],
  ['plain text rather than OpenMetrics', 'application/openmetrics-text;q=0.3, text/plain; q=0.9', 'text'],
  ['no OpenMetrics', 'application/openmetrics-text;q=0, */*', 'text'],
  ['no OpenMetrics, with a space before q', 'application/openmetrics-text; q=0, */*', 'text'],
  ['no OpenMetrics of a version', 'application/openmetrics-text; version=1.0.0 ;\tQ = 0, */*', 'text'],
  ['a parameter whose name ends with q', 'application/openmetrics-text; faq=0, */*;q=0.1', 'openmetrics'],
  ['a malformed value', ';;,,q=;"', 'text'],
])('a client that accepts %s gets its preferred format', (_name, accept, format) => {
  expect(preferredFormat(accept)).toBe(format);
});

test('an Accept header of the maximum length is parsed quickly', () => {
  for (const part of [';a=b', ' ', '; ', 'q ', ';q '])
    expect(preferredFormat(`text/plain${part.repeat(16_000 / part.length)}`)).toBe('text');
});
