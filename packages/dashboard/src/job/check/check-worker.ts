/**
 * The thread that checks a job, so that the page answers while a long history is checked. It is given the events, page by
 * page, and then the rest, and answers once.
 */
import type { JobEvent } from '@vouchbox/protocol';
import { type CheckedRecord, checkWhole, type RecordToCheck } from './check-record.ts';

export type CheckMessage =
  | { readonly kind: 'events'; readonly events: readonly JobEvent[] }
  | { readonly kind: 'check'; readonly record: RecordToCheck };

export type CheckAnswer =
  | { readonly kind: 'checked'; readonly checked: CheckedRecord }
  | { readonly kind: 'problem'; readonly text: string };

const events: JobEvent[] = [];
const post = (answer: CheckAnswer) => globalThis.postMessage(answer);

globalThis.addEventListener('message', ({ data }: MessageEvent<CheckMessage>) => {
  if (data.kind === 'events') {
    for (const event of data.events) events.push(event);
    return;
  }
  checkWhole(events, data.record).then(
    (checked) => post({ kind: 'checked', checked }),
    (error: unknown) => post({ kind: 'problem', text: error instanceof Error ? error.message : String(error) }),
  );
});
