/** The outcome of an ended job, for a reader of its events who asked to get the outcome with the last event. */
import type { AnyReceipt, FilledQueryOf, FoldedResult } from '@vouchbox/protocol';
import type { JsonText } from '../../ground/json-text.ts';
import { type Body, jsonOf, LongJson } from '../body.ts';

export type EndInclude = FilledQueryOf<'replayEvents'>['include'];

export interface EndParts {
  readonly result?: LongJson<FoldedResult>;
  readonly receipt?: LongJson<AnyReceipt>;
}

/** How to read the parts. */
export interface EndReader {
  readonly result: () => Promise<{ readonly body: Body<FoldedResult> }>;
  readonly receipt: () => Promise<JsonText<AnyReceipt> | null>;
}

/** The requested parts, as members of a longer text. A part that no longer exists is left out. */
export async function endParts(include: EndInclude, { result, receipt }: EndReader): Promise<EndParts> {
  const told = include.includes('receipt') ? await receipt() : null;
  return {
    ...(include.includes('result') && { result: jsonOf((await result()).body) }),
    ...(told !== null && { receipt: new LongJson<AnyReceipt>(told) }),
  };
}
