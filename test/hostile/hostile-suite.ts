/**
 * Registers the cases that apply to a class as tests. All these tests use one open provider. One project runs the cases
 * that may run side by side. Another project runs the cases that must be alone on the machine.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { isRootOfHost } from '../../packages/server/src/sandbox/kernel/user-namespace/mapped-users.ts';
import { isLongForm } from '../rig/form.ts';
import { leftoversOf } from '../rig/leftovers.ts';
import { hostileCases } from './cases.ts';
import { appliesTo, expectHeld, type HostileCase, type HostileClass } from './hostile-case.ts';
import { type GvisorStarter, LAUNCHERS, type NamespaceLauncher, useLauncher } from './launchers.ts';
import { CASE_MILLISECONDS_MAX } from './size.ts';
import { Target } from './target.ts';

/**
 * If the runtime is missing, every test of the class fails. `differs` chooses the cases whose outcome may depend on the
 * class or the launcher. All cases are tried if `differs` is absent, and always in the long form.
 */
export function describeHostile(
  hostileClass: HostileClass,
  launcher: NamespaceLauncher | GvisorStarter = LAUNCHERS[hostileClass][0],
  differs: (hostileCase: HostileCase) => boolean = () => true,
): void {
  const isAlone = inject('attacks') === 'alone';
  const cases = hostileCases.filter(
    (hostileCase) =>
      appliesTo(hostileCase, hostileClass) &&
      (hostileCase.needsRoot !== true || isRootOfHost()) &&
      (hostileCase.alone === true) === isAlone &&
      (isLongForm || differs(hostileCase)),
  );
  let target: Target;
  let chosen: Disposable;
  beforeAll(async () => {
    chosen = useLauncher(hostileClass, launcher);
    target = await Target.open(hostileClass);
  });
  afterAll(async () => {
    await target[Symbol.asyncDispose]();
    chosen[Symbol.dispose]();
    expect(leftoversOf(target.dataDirectory)).toEqual([]);
  });

  describe('attacks', { concurrent: !isAlone }, () => {
    for (const hostileCase of cases) {
      const { id, title } = hostileCase;
      test(`${id}: ${title}`, { tags: [id], timeout: CASE_MILLISECONDS_MAX }, () => expectHeld(hostileCase, target));
    }
  });
}
