import { describe, expect, it } from 'vitest';
import { isRootOfHost, ownerOutside, usersOfCells } from './mapped-users.ts';

describe('the users of cells', () => {
  it('are ids that nobody else has, if the service is root of the host', () => {
    expect(usersOfCells('         0          0 4294967295\n')).toEqual({ first: 0x70000000, count: 0x0ffffffe });
  });

  it('are subordinate ids, if the service is root of a user namespace', () => {
    const text = '         0       1000          1\n         1     100000      65536\n';
    expect(usersOfCells(text)).toEqual({ first: 1, count: 65_536 });
  });

  it('never include root, even if one range maps all ids', () => {
    expect(usersOfCells('0 100000 65536')).toEqual({ first: 1, count: 65_534 });
  });

  it('cannot be chosen if only root is mapped', () => {
    expect(() => usersOfCells('0 1000 1')).toThrow(/subuid/);
  });
});

it('root of the host has no owner outside, unlike root of a user namespace', () => {
  expect([isRootOfHost(), ownerOutside()]).toEqual([true, null]);
});
