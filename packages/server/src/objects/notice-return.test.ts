import { expect, test } from 'vitest';
import { noticeReturn } from './notice-return.ts';
import { ObjectError, type ObjectErrorCode, type ObjectStore } from './object-store.ts';

/** A store that fails with the given code, or works if the code is null. */
function openScripted(state: { code: ObjectErrorCode | null }): ObjectStore {
  const answer = async () => {
    if (state.code !== null) throw new ObjectError(state.code, 'scripted');
  };
  return {
    name: 'scripted',
    put: answer,
    get: () => answer().then(() => new Uint8Array()),
    size: () => answer().then(() => 0),
    remove: answer,
    check: answer,
  };
}

test('after failures, the first success of an object store is announced once, whichever request succeeds', async () => {
  for (const code of ['unreachable', 'refused'] as const) {
    const state: { code: ObjectErrorCode | null } = { code: null };
    let returns = 0;
    const objects = noticeReturn(openScripted(state), () => returns++);
    await objects.check();
    state.code = code;
    await expect(objects.put('a', new Uint8Array())).rejects.toMatchObject({ code });
    await expect(objects.get('a', 1)).rejects.toMatchObject({ code });
    expect(returns).toBe(0);
    state.code = null;
    await objects.check();
    await objects.remove('a');
    expect(returns).toBe(1);
  }
});

test('a missing or damaged object says nothing about whether the object store answers', async () => {
  for (const code of ['missing', 'damaged'] as const) {
    const state: { code: ObjectErrorCode | null } = { code };
    let returns = 0;
    const objects = noticeReturn(openScripted(state), () => returns++);
    await expect(objects.size('a')).rejects.toMatchObject({ code });
    state.code = null;
    await objects.size('a');
    expect(returns).toBe(0);
  }
});
