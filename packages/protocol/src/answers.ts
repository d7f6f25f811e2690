/** The kinds of answers that operations give, and the bodies that no other module defines. */

import { OPENMETRICS_MEDIA_TYPE, PROMETHEUS_MEDIA_TYPE } from './media-types.ts';
import { Closed, type TSchema, Type } from './type.ts';

const JSON_TYPE = 'application/json';
export const Bytes = Type.String({ format: 'binary' });

/** Exact bytes, with a header against which a client can check them. */
export function storedBytes<MediaType extends string, T extends TSchema>(
  description: string,
  mediaType: MediaType,
  schema: T,
) {
  const content = { [mediaType]: schema } as { readonly [Name in MediaType]: T };
  return { description, content, headers: ['X-Content-Sha256'] } as const;
}

export function json<T extends TSchema>(description: string, schema: T) {
  return { description, content: { [JSON_TYPE]: schema }, headers: [] } as const;
}

export function metrics(description: string) {
  const content = { [PROMETHEUS_MEDIA_TYPE]: Type.String(), [OPENMETRICS_MEDIA_TYPE]: Type.String() };
  return { description, content, headers: [] } as const;
}

/** The body of an operation that needs no body, but accepts an empty object. */
export const NoMembers = Closed({});

/** An OpenAPI document. OpenAPI's own specification defines its members. */
export const OpenApiDocument = Type.Object({
  openapi: Type.String(),
  info: Type.Unknown(),
  servers: Type.Unknown(),
  tags: Type.Unknown(),
  paths: Type.Unknown(),
  components: Type.Unknown(),
});
