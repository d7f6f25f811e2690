import { expect, test } from 'vitest';
import { patient } from './slowness.ts';
import { TRIALS } from './trials.ts';

test('a trial gets more time on a machine that is slower than expected, but never less than its usual time', () => {
  for (const trial of TRIALS) {
    expect(patient(trial, 36).secondsMax).toBe(3 * trial.secondsMax);
    expect(patient(trial, 1).secondsMax).toBe(trial.secondsMax);
  }
});

test('each trial gets the machine’s slowness in HOSTILE_PATIENCE', () => {
  for (const trial of TRIALS) expect(patient(trial, 36).env?.['HOSTILE_PATIENCE']).toBe('36');
});
