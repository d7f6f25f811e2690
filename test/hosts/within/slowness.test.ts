import { expect, test } from 'vitest';
import { patient } from './slowness.ts';
import { TRIALS } from './trials.ts';

test('a trial gets more time on a machine that is slower than emulated ones, and no less on a faster one', () => {
  for (const trial of TRIALS) {
    expect(patient(trial, 36).secondsMax).toBe(3 * trial.secondsMax);
    expect(patient(trial, 1).secondsMax).toBe(trial.secondsMax);
  }
});

test('the attacks are told how slow the machine is', () => {
  for (const trial of TRIALS) expect(patient(trial, 36).env?.['HOSTILE_PATIENCE']).toBe('36');
});
