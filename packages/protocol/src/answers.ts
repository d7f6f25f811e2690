/** The kinds of answers of operations. */

import { OPENMETRICS_MEDIA_TYPE, PROMETHEUS_MEDIA_TYPE } from './media-types.ts';
import type { Answer, AnswerHeader } from './operation.ts';
import { type TSchema, Type } from './type.ts';

const JSON_TYPE = 'application/json';
const Bytes = Type.String({ format: 'binary' });

/** Exact bytes, with the header that a client checks them against. */
export function storedBytes(description: string, mediaType: string): Answer {
  return { description, content: { [mediaType]: Bytes }, headers: ['X-Content-Sha256'] };
}

export function json<T extends TSchema>(description: string, schema: T) {
  return { description, content: { [JSON_TYPE]: schema }, headers: [] as readonly AnswerHeader[] };
}

export function metrics(description: string): Answer {
  return {
    description,
    content: { [PROMETHEUS_MEDIA_TYPE]: Type.String(), [OPENMETRICS_MEDIA_TYPE]: Type.String() },
    headers: [],
  };
}
