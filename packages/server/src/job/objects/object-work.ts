/** The loop that keeps large contents in the object store: it moves contents there, and removes objects that nobody uses. */
import { StandingLoop } from '../../ground/waiting/standing-loop.ts';
import { within } from '../../ground/waiting/within.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { Nudges } from '../nudges.ts';
import { type MoveOptions, moveContents } from './move-contents.ts';
import { type RemoveOptions, removeObjects } from './remove-objects.ts';

export interface ObjectWorkOptions {
  readonly store: MoveOptions['store'] & RemoveOptions['store'];
  readonly objects: MoveOptions['objects'];
  readonly bytesMin: number;
  /** `contents` wakes the loop while the object store works, and `objects` once the store works again. */
  readonly nudges: Pick<Nudges, 'next'>;
  readonly log: Log;
  /** How often the loop looks if nothing wakes it, because a message from another node may be lost. */
  readonly recheckMilliseconds?: number;
  /** Whether this process moves and removes contents. By default, it does. */
  readonly isOurTurn?: () => boolean;
}

const fewSeconds = 5000;
/** The longest pause. Each failure doubles the pause. A pause ends early once the object store answers any request. */
const pauseMillisecondsMax = 300_000;

/** A loop that moves and removes contents until it is disposed. A failing object store is asked less and less often. */
export function createObjectWork(options: ObjectWorkOptions): StandingLoop {
  const { recheckMilliseconds = fewSeconds } = options;
  let failures = 0;
  return new StandingLoop(async (signal) => {
    // The nudges are registered before the store is read, so that later changes are not missed.
    using stored = options.nudges.next('contents', signal);
    using answers = options.nudges.next('objects', signal);
    try {
      if (options.isOurTurn?.() !== false) await workOnce(options, signal);
      failures = 0;
    } catch (error) {
      failures++;
      options.log.error({ err: error, failures }, 'contents could not be moved to the object store, or removed there');
    }
    const milliseconds = Math.min(recheckMilliseconds * 2 ** failures, pauseMillisecondsMax);
    await within((failures === 0 ? stored : answers).arrived, milliseconds, undefined);
  });
}

async function workOnce(options: ObjectWorkOptions, signal: AbortSignal): Promise<void> {
  const moved = await moveContents(options, signal);
  const removed = await removeObjects(options, signal);
  if (moved + removed > 0)
    options.log.info({ moved, removed }, 'contents were moved to the object store or removed there');
}
