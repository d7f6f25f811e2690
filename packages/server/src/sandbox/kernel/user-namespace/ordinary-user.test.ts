import { describe, expect, it, test } from 'vitest';
import { missingRight, type OrdinaryUserFacts, subordinatesIn } from './ordinary-user.ts';

const ALLOWED: OrdinaryUserFacts = {
  user: 'ada',
  refusals: [],
  hasName: true,
  hasMappers: true,
  users: { first: 100_000, count: 65_536 },
  groups: { first: 100_000, count: 65_536 },
  noNewPrivileges: false,
  groupProblem: null,
  isBuilt: true,
};

describe('an ordinary user', () => {
  it('lacks nothing where user namespaces, subordinate users and a delegated group are there', () => {
    expect(missingRight(ALLOWED)).toBeNull();
  });

  it.each<[string, Partial<OrdinaryUserFacts>, RegExp]>([
    ['a setting of the kernel', { refusals: ['user.max_user_namespaces=15000'] }, /^as root: sysctl -w user\.max/],
    ['newuidmap', { hasMappers: false }, /apt-get install uidmap$/],
    ['a name', { hasName: false }, /getent passwd/],
    ['subordinate users', { users: null }, /usermod --add-subuids .* ada$/],
    ['enough subordinate groups', { groups: { first: 100_000, count: 2 } }, /--add-subgids .* ada$/],
    ['the right to new privileges', { noNewPrivileges: true }, /NoNewPrivileges=yes/],
    ['a delegated group', { groupProblem: '/sys/fs/cgroup is read-only' }, /Delegate=yes/],
    ['what the set-up builds', { isBuilt: false }, /^vouchbox setup$/],
  ])('learns the one thing to do about %s', (_, facts, fix) => {
    expect(missingRight({ ...ALLOWED, ...facts })?.fix).toMatch(fix);
  });

  it('learns first what the other requirements depend on', () => {
    const nothing = { refusals: ['user.max_user_namespaces=15000'], hasMappers: false, users: null, isBuilt: false };
    expect(missingRight({ ...ALLOWED, ...nothing })?.fix).toBe('as root: sysctl -w user.max_user_namespaces=15000');
  });
});

test('subordinate ids are the largest range of the user, by name or number', () => {
  const text = 'bob:100000:65536\nada:200000:1000\n1001:300000:65536\nada:broken\n';
  expect(subordinatesIn(text, ['ada', '1001'])).toEqual({ first: 300_000, count: 65_536 });
  expect(subordinatesIn(text, ['ada'])).toEqual({ first: 200_000, count: 1000 });
  expect(subordinatesIn(text, ['eve'])).toBeNull();
});
