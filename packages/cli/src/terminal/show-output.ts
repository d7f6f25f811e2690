/**
 * Passes a job's recorded output on as it comes, byte for byte: stdout to stdout, stderr to stderr. On a terminal, everything
 * that the terminal would interpret is escaped, because the program is not trusted.
 */
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { JobEvent, OutputRecord } from '@vouchbox/protocol';
import { outputText, printableText } from '@vouchbox/protocol/vocabulary';

/** Where one of a program's streams goes. */
export type OutputTarget = Writable & { readonly isTTY?: boolean };

/** Where both of a program's streams go. */
export interface OutputTargets {
  readonly stdout: OutputTarget;
  readonly stderr: OutputTarget;
}

/** `raw` passes output on unescaped, even to a terminal. */
export type OutputForm = 'safe' | 'raw';

/** Writes one event's output, and waits for a slow reader. If the reader has exited, the output is dropped. */
export async function showOutput({ kind, data }: JobEvent, targets: OutputTargets, form: OutputForm): Promise<void> {
  if (kind !== 'stdout' && kind !== 'stderr') return;
  const text = outputText(data as OutputRecord);
  const target = targets[kind];
  const shown = form === 'safe' && target.isTTY === true ? apart(printableText(text)) : text;
  if (target.writable && !target.write(shown)) await drained(target);
}

/** Escapes the first letter of each line that starts like a message from this command, so that the line cannot pass for one. */
function apart(text: string): string {
  return text.replaceAll(/^vouchbox:/gm, '\\u{76}ouchbox:');
}

/** Resolves once the stream has room again or its reader has gone. */
async function drained(target: OutputTarget): Promise<void> {
  try {
    await once(target, 'drain');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  }
}
