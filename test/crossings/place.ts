/** A column of the matrix: a place where a job can be met. */
import type { Crossing } from './crossing.ts';
import type { Facts, Seen } from './facts.ts';
import type { Feature } from './features.ts';
import type { Service, Settings } from './service.ts';

/** Whether the place is where a job is submitted and read, where its record is kept or checked, or where its program runs. */
export type Group = 'callers' | 'records' | 'cells';

/** The services of the matrix. Places that name the same one share it. */
export type ServiceName = 'usual' | 'gvisor' | 'crun' | 'nodes' | 'objects';

export interface Place {
  /** The head of its column. */
  readonly title: string;
  readonly group: Group;
  readonly service: ServiceName;
  /** The facts that this place shows of every job that ended: without one of them a cell does not hold. */
  readonly shows: readonly (keyof Facts)[];
  /** A sentence for each feature that cannot be met here. Every other feature is tried. */
  readonly except: Readonly<Partial<Record<Feature, string>>>;
  /** For each feature of which some facts cannot be seen here: those facts, and why. */
  readonly unseen?: Readonly<Partial<Record<Feature, Unseen>>>;
  readonly open: () => Promise<OpenPlace>;
}

export interface Unseen {
  readonly facts: readonly (keyof Facts)[];
  /** A sentence. */
  readonly why: string;
}

/** A place that shows only jobs: what a service shows beside them is read with the TypeScript client. */
export const NO_LIST: Unseen = { facts: [], why: 'It has no list of jobs: a client reads the list.' };
export const NO_STATUS: Unseen = { facts: [], why: 'It does not show the status of a service: a client reads it.' };

/** A driver: plays scenarios at its place, several at the same time. */
export interface OpenPlace extends AsyncDisposable {
  /** Plays a scenario to its end and gives back what this place shows of it. */
  readonly play: (crossing: Crossing) => Promise<Seen>;
  /** Carries the service's data elsewhere, after all scenarios, and starts a service from it. */
  readonly carry?: (service: Service, start: StartAgain) => Promise<Service>;
  /** The facts of an earlier scenario of this place, read from the service that `carry` started. */
  readonly again?: (crossing: Crossing) => Promise<Seen>;
}

/** Starts a service for the same tenants. */
export type StartAgain = (settings: Settings, dataDir: string) => Promise<Service>;

/** For a place that holds nothing open. */
export function withoutOpening(place: Omit<OpenPlace, typeof Symbol.asyncDispose>): () => Promise<OpenPlace> {
  return async () => ({ ...place, [Symbol.asyncDispose]: async () => {} });
}
