import { afterEach, expect, it, vi } from 'vitest';
import { StartError } from '../../../ground/start-error.ts';
import { hostPatience } from '../../kernel/host/patience.ts';
import type { Check } from './finding.ts';
import { pass, warn } from './finding.ts';
import { Checks, type Trial } from './trial.ts';

const trial = (id: string, attempt: Trial['attempt'], needs?: string[]): Trial => ({
  id,
  title: `the ${id}`,
  fix: `mend ${id}`,
  attempt,
  ...(needs !== undefined && { needs }),
});

afterEach(() => {
  vi.useRealTimers();
});

it('a trial that throws an error counts as failed, with the error and the remedy', async () => {
  const checks = new Checks();
  await checks.run([
    trial('door', () => {
      throw new Error('it is\n locked');
    }),
  ]);
  expect(checks.all).toEqual([
    { id: 'door', title: 'the door', result: 'fail', observed: 'it is locked', fix: 'mend door' },
  ]);
});

it('if an error has a hint, the hint is given instead of the remedy of the trial', async () => {
  const checks = new Checks();
  await checks.run([
    trial('door', () => {
      throw new StartError('it is locked', { hint: 'take the other key' });
    }),
    trial('gate', () => {
      throw new StartError('it is locked');
    }),
  ]);
  expect(checks.all.map(({ fix }) => fix)).toEqual(['take the other key', 'mend gate']);
});

it('a trial is skipped if a trial that it needs failed, but not if that trial only gave a warning', async () => {
  const checks = new Checks();
  const never = vi.fn<Trial['attempt']>(() => pass('reached'));
  await checks.run([
    trial('a', () => warn('old', 'renew a')),
    trial('b', () => pass('reached'), ['a']),
    trial('c', () => Promise.reject(new Error('gone'))),
    trial('d', never, ['c']),
    trial('e', never, ['d']),
    trial('f', never, ['unheard of']),
  ]);
  expect(checks.all.map(({ id, result }) => `${id} ${result}`)).toEqual([
    'a warn',
    'b pass',
    'c fail',
    'd not_tried',
    'e not_tried',
    'f not_tried',
  ]);
  expect(never).not.toHaveBeenCalled();
  expect([checks.passed('a'), checks.holds('a'), checks.passed('b'), checks.holds('c')]).toEqual([
    false,
    true,
    true,
    false,
  ]);
});

it('a trial that does not end fails after 45 seconds, or more on a slow host', async () => {
  // Only the measurement of this host needs real time, once for the process.
  const seconds = 45 * (await hostPatience());
  vi.useFakeTimers();
  const checks = new Checks();
  const ended = checks.run([trial('slow', () => new Promise(() => {}))]);
  await vi.advanceTimersByTimeAsync(seconds * 1000);
  await ended;
  expect(checks.all[0]).toMatchObject({
    result: 'fail',
    observed: `did not end within ${seconds} s`,
    fix: 'mend slow',
  });
});

it('each check is reported as soon as it is made', async () => {
  const told: Check[] = [];
  const checks = new Checks((check) => told.push(check));
  await checks.run([trial('a', () => pass('1')), trial('b', () => pass(String(told.length)))]);
  expect(told.map(({ observed }) => observed)).toEqual(['1', '1']);
});

it('concurrent trials have the same results as sequential ones', async () => {
  const trials = [
    trial('a', () => pass('1')),
    trial('b', () => Promise.reject(new Error('no'))),
    trial('c', () => pass('3'), ['b']),
    trial('d', () => pass('4'), ['a']),
  ];
  const [apart, together] = [new Checks(), new Checks()];
  await apart.run(trials);
  await together.runTogether(trials);
  const sorted = (checks: Checks) => checks.all.toSorted((a, b) => a.id.localeCompare(b.id));
  expect(sorted(together)).toEqual(sorted(apart));
});
