/**
 * Passes a job's recorded output on as it comes: stdout to stdout, stderr to stderr, to the byte. Where one of them goes to a
 * terminal, what would act on the terminal is spelled out: the program is not trusted.
 */
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { JobEvent, OutputRecord } from '@svc/protocol';
import { printableText } from '@svc/protocol/vocabulary';

/** Where a stream of a program goes. */
export type OutputTarget = Writable & { readonly isTTY?: boolean };

/** Where the two streams of a program go. */
export interface OutputTargets {
  readonly stdout: OutputTarget;
  readonly stderr: OutputTarget;
}

/** `raw` passes output on to a terminal too as the program wrote it. */
export type OutputForm = 'safe' | 'raw';

/** Writes one event's output, waiting where the reader is slow. Events of other kinds are passed over. */
export async function showOutput({ kind, data }: JobEvent, targets: OutputTargets, form: OutputForm): Promise<void> {
  if (kind !== 'stdout' && kind !== 'stderr') return;
  const { text, partial } = data as OutputRecord;
  const target = targets[kind];
  const shown = form === 'safe' && target.isTTY === true ? printableText(text) : text;
  if (!target.write(partial === true ? shown : `${shown}\n`)) await once(target, 'drain');
}
