/**
 * Makes changes of one transaction side by side. A change spends most of its time waiting for answers from the database, so a
 * session that made one change after the other would mostly wait.
 */
import type { Writes } from '../../commands.ts';
import type { Call } from '../../threads/messages.ts';

/** Changes that read and change rows of one job, and add to the counts of its tenant. */
const OF_ONE_JOB: ReadonlySet<string> = new Set<keyof Writes>([
  'answerToolCall',
  'append',
  'finish',
  'postponeAttestation',
  'requestCancel',
  'start',
  'storeAttestation',
]);

/** Changes that depend on other changes with the same name, but not on changes to jobs. */
const OF_ONE_NAME: ReadonlySet<string> = new Set<keyof Writes>([
  'admit',
  'consumeTicket',
  'storeTicket',
  'takeQueuedJobs',
]);

/** The lanes of one transaction. Changes in one lane are made in order, and changes in different lanes side by side. */
export class Lanes {
  /** The last change in each lane. */
  readonly #last = new Map<string, Promise<unknown>>();
  /** The last change that needed to be alone. */
  #alone: Promise<unknown> | undefined;

  /**
   * Makes a call's change after the earlier changes in its lane. A change without a lane is made alone. If an earlier change
   * failed, this change is not made and fails with the same error: the transaction can no longer be committed.
   */
  run<Value>(call: Call, make: () => Promise<Value>): Promise<Value> {
    const lane = laneOf(call);
    const last = lane === null ? [...this.#last.values()] : [this.#last.get(lane)];
    const before = [this.#alone, ...last].filter((change) => change !== undefined);
    const made = before.length > 0 ? Promise.all(before).then(make) : make();
    if (lane === null) this.#alone = made;
    else this.#last.set(lane, made);
    return made;
  }
}

function laneOf({ name, input }: Call): string | null {
  if (OF_ONE_NAME.has(name)) return name;
  if (!OF_ONE_JOB.has(name)) return null;
  const { key = input } = input as { readonly key?: unknown };
  const { tenant, job_id } = key as { readonly tenant: string; readonly job_id: string };
  return `${tenant} ${job_id}`;
}
