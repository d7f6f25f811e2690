/** What an adapter is: the routes of another system's interface, and the form of its errors. */
import type { ServiceClient } from '@vouchbox/client';
import type { FastifyInstance } from 'fastify';
import type { AdapterError } from './adapter-error.ts';
import type { Languages } from './languages.ts';

/** What an adapter's routes stand on. */
export interface AdapterParts {
  readonly client: ServiceClient;
  readonly languages: Languages;
}

/** Adds the routes of one interface. `errorBody` makes the body of an error. */
export interface Adapter {
  readonly routes: (app: FastifyInstance, parts: AdapterParts) => void;
  readonly errorBody: (error: AdapterError) => unknown;
  /** The status of an answer about a member that is missing or of a wrong type. */
  readonly invalidStatus: 400 | 422;
  /** A header that may carry the key beside `Authorization: Bearer`. */
  readonly keyHeader?: string;
}
