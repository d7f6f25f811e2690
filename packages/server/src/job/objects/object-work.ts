/** The loop that keeps large contents in the object store: it moves what is in the store and removes what nobody uses. */
import { pause } from '../../ground/waiting/pause.ts';
import { StandingLoop } from '../../ground/waiting/standing-loop.ts';
import type { Log } from '../../telemetry/log/log.ts';
import { type MoveOptions, moveContents } from './move-contents.ts';
import { type RemoveOptions, removeObjects } from './remove-objects.ts';

export interface ObjectWorkOptions {
  readonly store: MoveOptions['store'] & RemoveOptions['store'];
  readonly objects: MoveOptions['objects'];
  readonly bytesMin: number;
  readonly log: Log;
  /** Whether it is this process that does so; without it, it is. */
  readonly isOurTurn?: () => boolean;
}

/** How often it looks. Nobody waits for it: two indexes say at once that there is nothing to do. */
const recheckMilliseconds = 5000;
/** The longest pause after failures, which doubles with each. */
const pauseMillisecondsMax = 300_000;

/** Moves and removes from the loop's start until it is disposed. An object store that fails is asked less and less often. */
export function createObjectWork(options: ObjectWorkOptions): StandingLoop {
  let failures = 0;
  return new StandingLoop(async (signal) => {
    try {
      if (options.isOurTurn?.() !== false) await workOnce(options, signal);
      failures = 0;
    } catch (error) {
      failures++;
      options.log.error({ err: error, failures }, 'contents could not be moved to the object store, or removed there');
    }
    await pause(Math.min(recheckMilliseconds * 2 ** failures, pauseMillisecondsMax), signal);
  });
}

async function workOnce(options: ObjectWorkOptions, signal: AbortSignal): Promise<void> {
  const moved = await moveContents(options, signal);
  const removed = await removeObjects(options, signal);
  if (moved + removed > 0)
    options.log.info({ moved, removed }, 'contents were moved to the object store or removed there');
}
