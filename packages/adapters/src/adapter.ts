/** An adapter: the routes of another system's interface, and that system's form for errors. */
import type { ServiceClient } from '@vouchbox/client';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AdapterError } from './adapter-error.ts';
import type { EqualBuilds } from './equal-builds.ts';
import type { Languages } from './languages.ts';

/** The parts that an adapter's routes use. */
export interface AdapterParts {
  readonly client: ServiceClient;
  readonly languages: Languages;
  readonly builds: EqualBuilds;
  /** Logs an error unless the caller caused it. */
  readonly noteFailure: (request: FastifyRequest, error: AdapterError) => void;
}

/** Adds the routes of one interface. `errorBody` makes the body of an error. */
export interface Adapter {
  readonly routes: (app: FastifyInstance, parts: AdapterParts) => void;
  readonly errorBody: (error: AdapterError) => unknown;
  /** The HTTP status that the other system gives for an error. */
  readonly statusOf: (error: AdapterError) => number;
  /** Another header, besides `Authorization: Bearer`, in which a caller may send the key. */
  readonly keyHeader?: string;
}
