/**
 * Runs the program that a cell holds, from its release until all its processes are dead and its outputs
 * are read. Output is recorded as it arrives. The result is returned: this module does not store the job's end.
 */
import type { EventBody } from '@vouchbox/protocol';
import type { Collection, LoadedCell, OutputSink } from '../../sandbox/sandbox.ts';
import type { JobKey } from '../../store/records/rows.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { History } from '../history.ts';
import type { JobClock } from './clock.ts';
import type { Control } from './launched-job.ts';
import { createRecorder, type Recorded } from './recorder.ts';

/** The result of one run. `collection` is null if the cell could not be collected; `failure` then says why. */
export interface Execution {
  readonly collection: Collection | null;
  readonly failure: unknown;
  readonly recording: Recorded;
  /** Events that the recorder has not stored. They are stored with the job's end. */
  readonly unstored: readonly EventBody[];
  /** The time from release to collection, on the monotonic clock. */
  readonly duration_ms: number;
}

export interface ExecuteOptions {
  readonly history: Pick<History, 'append'>;
  readonly key: JobKey;
  readonly loaded: LoadedCell;
  /** Receives the running program, so that others can stop it. */
  readonly control: Pick<Control, 'running' | 'tools'>;
  readonly clock: JobClock;
  readonly log: Log;
  /** Aborts when the process gives up storing the remaining events. */
  readonly giveUp: AbortSignal;
}

/** Releases the program and follows it to its end. If its output cannot be recorded without a gap, ends the program. */
export async function execute(options: ExecuteOptions): Promise<Execution> {
  const { clock, control } = options;
  const recorder = createRecorder({ ...options, onGap: () => control.running?.stop('server_shutdown') });
  control.tools?.recordBy(recorder.record);
  const released = clock.elapsedMilliseconds();
  const { collection, failure } = await releasedAndCollected(options, recorder.sink);
  const duration_ms = Math.round(clock.elapsedMilliseconds() - released);
  await control.tools?.over();
  const recording = await recorder.flush();
  return { collection, failure, recording, unstored: recorder.unstored(), duration_ms };
}

async function releasedAndCollected({ loaded, control }: ExecuteOptions, sink: OutputSink) {
  try {
    control.running = loaded.release(sink);
    return { collection: await control.running.collect(), failure: null };
  } catch (failure) {
    return { collection: null, failure };
  } finally {
    control.running = null;
  }
}
