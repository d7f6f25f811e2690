import { describe, expect, it } from 'vitest';
import { BootstrapError, NotReadyInTime, unreadyPosture } from '../../sandbox.ts';
import { tryTwice } from './gvisor-platform.ts';

const unready = unreadyPosture('gvisor', { name: 'runsc', version: null, platform: null });
const late = new BootstrapError('bootstrap', 'late', unready, { cause: new NotReadyInTime(5000) });
const broken = new BootstrapError('bootstrap', 'no such file', unready, { cause: new Error('no such file') });

/** Tries a platform. Each try fails with the next failure. Returns the factor of each try, then the error, if any. */
async function timesOf(platform: 'systrap' | 'kvm', failures: Error[]): Promise<readonly (number | string)[]> {
  const times: (number | string)[] = [];
  const tried = tryTwice({ platform }, async (most) => {
    times.push(most);
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
  });
  await tried.catch((error: Error) => times.push(error.message));
  return times;
}

describe('the trial of a platform of gVisor', () => {
  it('is made once if it succeeds', async () => {
    expect(await timesOf('systrap', [])).toEqual([1]);
  });

  it('is repeated with more time if it was late', async () => {
    expect(await timesOf('systrap', [late])).toEqual([1, 2]);
    expect(await timesOf('systrap', [late, late])).toEqual([1, 2, 'late']);
  });

  it('is not repeated if it failed', async () => {
    expect(await timesOf('systrap', [broken])).toEqual([1, 'no such file']);
  });

  it('is not repeated for kvm if it was late, because kvm hangs', async () => {
    expect(await timesOf('kvm', [late])).toEqual([1, 'late']);
  });
});
