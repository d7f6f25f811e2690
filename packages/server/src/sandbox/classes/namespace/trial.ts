/**
 * Finds out whether a launcher's template makes copies. A pack's code runs in the template and may promise a copy without ever
 * making one, so the first copy has a deadline.
 */
import { within } from '../../../ground/waiting/within.ts';
import type { CellOptions } from '../../cell/runtime.ts';
import { NotReadyInTime } from '../../sandbox.ts';
import type { Launcher } from './launcher.ts';

/** Resolves to the launcher once it has made a copy of its template. If it makes no copy, ends the launcher and rejects. */
export async function tried(
  launcher: Launcher,
  { reserve, readyMilliseconds }: Pick<CellOptions, 'reserve' | 'readyMilliseconds'>,
): Promise<Launcher> {
  await using trial = reserve();
  try {
    const making = launcher.make({ id: trial.id, rootUid: trial.rootUid, accesses: '' });
    const copy = await within(making, readyMilliseconds, null);
    if (copy === null) throw new NotReadyInTime(readyMilliseconds);
    trial.group.kill();
    copy.forget();
    await copy.gone;
    return launcher;
  } catch (error) {
    await launcher[Symbol.asyncDispose]();
    throw error;
  }
}
