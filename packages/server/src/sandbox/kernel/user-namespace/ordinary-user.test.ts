import { describe, expect, it, test } from 'vitest';
import { missingRights, missingUsers, type OrdinaryUserFacts, subordinatesIn } from './ordinary-user.ts';

const ALLOWED: OrdinaryUserFacts = {
  user: 'ada',
  refusals: [],
  saidOnTrial: null,
  hasName: true,
  hasMappers: true,
  users: { first: 100_000, count: 65_536 },
  groups: { first: 100_000, count: 65_536 },
  noNewPrivileges: false,
  isBuilt: true,
};

describe('an ordinary user', () => {
  it('lacks nothing if the host has user namespaces and subordinate ids', () => {
    expect([missingRights(ALLOWED), missingUsers(ALLOWED)]).toEqual([[], []]);
  });

  it('can make cells with one user if the host has only user namespaces', () => {
    const bare = {
      ...ALLOWED,
      hasName: false,
      hasMappers: false,
      users: null,
      groups: null,
      groupProblem: 'read-only',
    };
    expect(missingRights(bare)).toEqual([]);
  });

  it.each<[string, Partial<OrdinaryUserFacts>, RegExp]>([
    ['newuidmap', { hasMappers: false }, /apt-get install uidmap$/],
    ['a name', { hasName: false }, /getent passwd/],
    ['subordinate users', { users: null }, /usermod --add-subuids .* ada$/],
    ['enough subordinate groups', { groups: { first: 100_000, count: 2 } }, /--add-subgids .* ada$/],
    ['the right to new privileges', { noNewPrivileges: true }, /NoNewPrivileges=yes/],
  ])('learns how to get %s, so that its cells have their own users', (_, facts, fix) => {
    expect(missingUsers({ ...ALLOWED, ...facts }).map((right) => right.fix)).toEqual([expect.stringMatching(fix)]);
  });

  it('is told of all missing packages and settings for cells with their own users', () => {
    const bare = { ...ALLOWED, hasMappers: false, users: null, groups: null };
    expect(missingUsers(bare).map(({ fix }) => fix)).toEqual([
      expect.stringContaining('apt-get install uidmap'),
      expect.stringContaining('usermod --add-subuids'),
    ]);
  });

  it.each([
    ['make a user namespace: No space left on device', /^as root: sysctl -w user.max_user_namespaces=15000$/],
    ['make a user namespace: Operation not permitted', /^in a container, start it with what docs.operating.containers/],
  ])('is told what to do if the kernel answers %j', (saidOnTrial, fix) => {
    const [right] = missingRights({ ...ALLOWED, saidOnTrial });
    expect(right?.missing).toContain(saidOnTrial);
    expect(right?.fix).toMatch(fix);
  });

  it('is told of everything that cells need and the host lacks', () => {
    const refusals = ['user.max_user_namespaces=15000', 'kernel.apparmor_restrict_unprivileged_userns=0'];
    expect(missingRights({ ...ALLOWED, refusals, isBuilt: false }).map(({ fix }) => fix)).toEqual([
      'as root: sysctl -w user.max_user_namespaces=15000',
      'as root: vouchbox setup --apparmor',
      'vouchbox setup',
    ]);
  });
});

test('the subordinate ids of a user are the largest range that is listed under the user’s name or number', () => {
  const text = 'bob:100000:65536\nada:200000:1000\n1001:300000:65536\nada:broken\n';
  expect(subordinatesIn(text, ['ada', '1001'])).toEqual({ first: 300_000, count: 65_536 });
  expect(subordinatesIn(text, ['ada'])).toEqual({ first: 200_000, count: 1000 });
  expect(subordinatesIn(text, ['eve'])).toBeNull();
});
