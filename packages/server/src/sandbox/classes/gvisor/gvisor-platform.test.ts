import { describe, expect, it } from 'vitest';
import { BootstrapError, NotReadyInTime, unreadyPosture } from '../../sandbox.ts';
import { tryTwice } from './gvisor-platform.ts';

const unready = unreadyPosture('gvisor', { name: 'runsc', version: null, platform: null });
const late = new BootstrapError('bootstrap', 'late', unready, { cause: new NotReadyInTime(5000) });
const broken = new BootstrapError('bootstrap', 'no such file', unready, { cause: new Error('no such file') });

/** Tries ways with these failures one after the other, and returns how many times the usual time each try had. */
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

describe('a way to start gVisor cells', () => {
  it('a way that works is tried once', async () => {
    expect(await timesOf('systrap', [])).toEqual([1]);
  });

  it('a way that was late is tried again with more time', async () => {
    expect(await timesOf('systrap', [late])).toEqual([1, 2]);
    expect(await timesOf('systrap', [late, late])).toEqual([1, 2, 'late']);
  });

  it('a way that failed is not tried again', async () => {
    expect(await timesOf('systrap', [broken])).toEqual([1, 'no such file']);
  });

  it('a way over kvm that was late is not tried again, because it hangs', async () => {
    expect(await timesOf('kvm', [late])).toEqual([1, 'late']);
  });
});
