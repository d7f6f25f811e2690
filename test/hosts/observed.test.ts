import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { HOSTS } from './host.ts';
import { readObserved, tableOf } from './observed.ts';
import { TRIALS } from './within/trials.ts';

describe('docs/HOSTS.md', () => {
  test('equals the table that is made from the stored observations', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/HOSTS.md'), 'utf8');
    expect(page).toBe(tableOf(readObserved()));
  });

  test('shows "no" if a trial failed', () => {
    const name = HOSTS[0]?.name ?? '';
    const trials = [{ trial: 'doctor', held: false, observed: '1 failed', seconds: 3, when: '2026-01-01' }];
    expect(tableOf({ [name]: trials })).toContain('| **no** | 1 failed | 2026-01-01 | 3 |');
  });
});

test('a host names only existing trials', () => {
  const known = TRIALS.map(({ id }) => id);
  for (const { trials } of HOSTS) expect(known).toEqual(expect.arrayContaining([...trials]));
});
