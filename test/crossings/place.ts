/** A column of the matrix: a place that submits, runs, stores or shows jobs. */
import type { Crossing } from './crossing.ts';
import type { Facts, Seen } from './facts.ts';
import type { Feature } from './features.ts';
import type { Service, Settings } from './service.ts';

/** Places in `callers` submit and read jobs, those in `records` store or check a job's record, and those in `cells` run jobs. */
export type Group = 'callers' | 'records' | 'cells';

/** The matrix's services. Places that name the same service share it. */
export type ServiceName = 'usual' | 'gvisor' | 'crun' | 'nodes' | 'objects';

export interface Place {
  /** The heading of the place's column in the page. */
  readonly title: string;
  readonly group: Group;
  readonly service: ServiceName;
  /** The facts that this place must show about every ended job. If one is missing, the cell fails. */
  readonly shows: readonly (keyof Facts)[];
  /** The features that cannot be tried here, each with the reason in a sentence. Every other feature is tried. */
  readonly except: Readonly<Partial<Record<Feature, string>>>;
  /** Keyed by feature: the facts that this place cannot show, and the reason. */
  readonly unseen?: Readonly<Partial<Record<Feature, Unseen>>>;
  readonly open: () => Promise<OpenPlace>;
}

export interface Unseen {
  readonly facts: readonly (keyof Facts)[];
  /** The reason, in a sentence. */
  readonly why: string;
}

/** For a place that shows only jobs. The TypeScript client reads the list of jobs and the service's status. */
export const NO_LIST: Unseen = { facts: [], why: 'It has no list of jobs: a client reads the list.' };
export const NO_STATUS: Unseen = { facts: [], why: 'It does not show the status of a service: a client reads it.' };

/** A place that is open. It plays scenarios, several at the same time. */
export interface OpenPlace extends AsyncDisposable {
  /** Plays a scenario to its end, and returns the facts that this place shows about it. */
  readonly play: (crossing: Crossing) => Promise<Seen>;
  /** After all scenarios, carries the service's data elsewhere and starts a service from that data. */
  readonly carry?: (service: Service, start: StartAgain) => Promise<Service>;
  /** The facts about an earlier scenario at this place, read from the service that `carry` started. */
  readonly again?: (crossing: Crossing) => Promise<Seen>;
}

/** Starts a service for the same tenants. */
export type StartAgain = (settings: Settings, dataDir: string) => Promise<Service>;

/** Opens a place that has nothing to close. */
export function withoutOpening(place: Omit<OpenPlace, typeof Symbol.asyncDispose>): () => Promise<OpenPlace> {
  return async () => ({ ...place, [Symbol.asyncDispose]: async () => {} });
}
