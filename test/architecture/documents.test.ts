/** The documents that repeat what the code says, held to it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SETTINGS } from '@svc/server';
import { expect, test } from 'vitest';

const operating = readFileSync(join(import.meta.dirname, '../../docs/OPERATING.md'), 'utf8');

test('docs/OPERATING.md lists every setting with its flag, its default and what it takes, and no other', () => {
  const rows = SETTINGS.map(({ name, flag, defaultText, description, allowed }) => {
    const fallback = defaultText === null ? 'off' : `\`${defaultText}\``;
    return `| \`${name}\` | \`--${flag}\` | ${fallback} | ${description} Takes ${allowed}. |`;
  });
  expect(operating.split('\n').filter((line) => line.startsWith('| `SERVICE_'))).toEqual(rows);
});
