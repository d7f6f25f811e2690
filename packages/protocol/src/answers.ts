/** The kinds of answers of operations. */

import { OPENMETRICS_MEDIA_TYPE, PROMETHEUS_MEDIA_TYPE } from './media-types.ts';
import { type TSchema, Type } from './type.ts';

const JSON_TYPE = 'application/json';
export const Bytes = Type.String({ format: 'binary' });

/** Exact bytes, with the header that a client checks them against. */
export function storedBytes<MediaType extends string>(description: string, mediaType: MediaType) {
  const content = { [mediaType]: Bytes } as { readonly [Name in MediaType]: typeof Bytes };
  return { description, content, headers: ['X-Content-Sha256'] } as const;
}

export function json<T extends TSchema>(description: string, schema: T) {
  return { description, content: { [JSON_TYPE]: schema }, headers: [] } as const;
}

export function metrics(description: string) {
  const content = { [PROMETHEUS_MEDIA_TYPE]: Type.String(), [OPENMETRICS_MEDIA_TYPE]: Type.String() };
  return { description, content, headers: [] } as const;
}
