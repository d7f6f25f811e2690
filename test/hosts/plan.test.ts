import { describe, expect, test } from 'vitest';
import { HOSTS } from './host.ts';
import { secondsOf } from './observed.ts';
import { planOf } from './plan.ts';

const ALL = { trials: undefined, isRest: false, isLong: false };

describe('the plan of npm run hosts', () => {
  test('has by default every trial of every host except the long trials', () => {
    const planned = planOf([], ALL);
    expect(new Map(planned.map(({ name, trials }) => [name, trials]))).toEqual(
      new Map(HOSTS.map(({ name, trials }) => [name, trials])),
    );
    expect(planOf([], { ...ALL, isLong: true }).flatMap(({ trials }) => trials)).toContain('hostile-gvisor');
    expect(planOf(['debian-12-small'], ALL).map(({ name }) => name)).toEqual(['debian-12-small']);
  });

  test('begins with the host whose trials take longest', () => {
    const seconds = planOf([], ALL).map(secondsOf);
    expect(seconds).toEqual(seconds.toSorted((one, other) => other - one));
  });

  test('includes the set-up only if nothing has been compiled for the host yet', () => {
    const [arm] = planOf(['debian-12-arm64'], { ...ALL, trials: ['groups'] });
    expect(arm?.trials).toEqual(['set-up', 'groups']);
    const [other] = planOf(['debian-12'], { ...ALL, trials: ['groups'] });
    expect(other?.trials).toEqual(['groups']);
  });

  test('refuses an unknown host, and names the known ones', () => {
    expect(() => planOf(['debian-1'], ALL)).toThrow(/there is no host debian-1: take debian-12, /);
  });
});
