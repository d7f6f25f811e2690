/**
 * Runs the one program of a sandbox that is ready for it, from release to the moment everything of it is dead and read.
 * Its output is recorded as it comes. What happened is returned; nothing terminal is stored here.
 */
import type { EventBody } from '@vouchbox/protocol';
import type { Collection, OutputSink, Sandbox } from '../../sandbox/sandbox.ts';
import type { JobKey } from '../../store/records.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { History } from '../history.ts';
import type { JobClock } from './clock.ts';
import { createRecorder, type Recorded } from './recorder.ts';

/** What one run came to. `collection` is null if the sandbox could not say, with the failure in its place. */
export interface Execution {
  readonly collection: Collection | null;
  readonly failure: unknown;
  readonly recording: Recorded;
  /** What the recorder has not stored and the end must tell. */
  readonly unstored: readonly EventBody[];
  /** Monotonic, from release to collection. */
  readonly duration_ms: number;
}

export interface ExecuteOptions {
  readonly history: Pick<History, 'append'>;
  readonly key: JobKey;
  readonly sandbox: Sandbox;
  readonly clock: JobClock;
  readonly log: Log;
  /** Aborts when the process gives up on what it could not store. */
  readonly giveUp: AbortSignal;
}

/** Releases the program and follows it to its end. If its output cannot be recorded without a gap, the program is ended. */
export async function execute({ sandbox, ...options }: ExecuteOptions): Promise<Execution> {
  const { clock } = options;
  const recorder = createRecorder({ ...options, onGap: () => sandbox.stop('server_shutdown') });
  const released = clock.elapsedMilliseconds();
  const { collection, failure } = await releasedAndCollected(sandbox, recorder.sink);
  const duration_ms = Math.round(clock.elapsedMilliseconds() - released);
  const recording = await recorder.flush();
  return { collection, failure, recording, unstored: recorder.unstored(), duration_ms };
}

async function releasedAndCollected(sandbox: Sandbox, sink: OutputSink) {
  try {
    sandbox.release(sink);
    return { collection: await sandbox.collect(), failure: null };
  } catch (failure) {
    return { collection: null, failure };
  }
}
