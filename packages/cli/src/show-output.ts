/** Passes a job's recorded output on as it comes: stdout to stdout, stderr to stderr, to the byte. */
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { JobEvent, OutputRecord } from '@svc/protocol';

/** Where the two streams of a program go. */
export interface OutputTargets {
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/** Writes one event's output, waiting where the reader is slow. Events of other kinds are passed over. */
export async function showOutput({ kind, data }: JobEvent, targets: OutputTargets): Promise<void> {
  if (kind !== 'stdout' && kind !== 'stderr') return;
  const { text, partial } = data as OutputRecord;
  const target = targets[kind];
  if (!target.write(partial === true ? text : `${text}\n`)) await once(target, 'drain');
}
