/**
 * The thread that checks a job or packs its evidence, so that the page stays responsive. It gets the events page by page, then
 * the rest of the record, and answers once.
 */
import type { JobEvent } from '@vouchbox/protocol';
import { type CheckedRecord, checkWhole, type RecordToCheck } from './check-record.ts';
import { evidenceFile, type RecordToExport } from './evidence-file.ts';

export type CheckMessage =
  | { readonly kind: 'events'; readonly events: readonly JobEvent[] }
  | { readonly kind: 'check'; readonly record: RecordToCheck }
  | { readonly kind: 'export'; readonly record: RecordToExport };

export type CheckAnswer =
  | { readonly kind: 'checked'; readonly checked: CheckedRecord }
  | { readonly kind: 'file'; readonly file: Blob }
  | { readonly kind: 'problem'; readonly text: string };

const events: JobEvent[] = [];
const post = (answer: CheckAnswer) => globalThis.postMessage(answer);

globalThis.addEventListener('message', ({ data }: MessageEvent<CheckMessage>) => {
  if (data.kind === 'events') {
    for (const event of data.events) events.push(event);
    return;
  }
  answerTo(data).then(post, (error: unknown) =>
    post({ kind: 'problem', text: error instanceof Error ? error.message : String(error) }),
  );
});

async function answerTo(message: Exclude<CheckMessage, { readonly kind: 'events' }>): Promise<CheckAnswer> {
  return message.kind === 'check'
    ? { kind: 'checked', checked: await checkWhole(events, message.record) }
    : { kind: 'file', file: evidenceFile(events, message.record) };
}
