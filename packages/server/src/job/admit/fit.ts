/**
 * Whether this node or another living node can run a specification. A job waits for a node that has everything the job
 * demands. A job that no node can run is refused at once.
 */
import type { RequestedSpec } from '@vouchbox/protocol';
import { LIMIT_NAMES, satisfiesIsolation } from '@vouchbox/protocol';
import { ServiceError } from '../../ground/service-error.ts';
import { PAIR_SLOTS } from '../../store/records/rows.ts';
import { checkPolicy, enforcedBy, type ProviderFacts } from './policy.ts';
import { refusal } from './refuse.ts';
import { INTERACTOR } from './submission.ts';

/** A node that runs jobs. */
export interface Executor extends ProviderFacts {
  /** The most memory in MiB that one of its jobs may have. */
  readonly memMbMax: number;
  /** How many jobs it runs at once, and the most memory in MiB that they may have together. */
  readonly slots: number;
  readonly concurrentMemMbMax: number;
  /** Whether it can make cells now. */
  readonly isReady: boolean;
}

/** What is known about the nodes that can run a specification. */
export interface Fit {
  /** Whether at least one of these nodes can make cells now. */
  readonly isReady: boolean;
  /** The most memory in MiB that a job may have on one of these nodes. */
  readonly memMbMax: number;
}

/** `at` is the pointer of the program. @throws ServiceError as `checkPolicy` does if no executor can run the specification */
export function fitOf(spec: RequestedSpec, executors: readonly [Executor, ...Executor[]], at = ''): Fit {
  const fitting = executors.filter((executor) => canRun(spec, executor));
  if (fitting.length === 0) throw refusalOf(spec, executors, at);
  return fitAmong(fitting);
}

/**
 * Like `fitOf`, but for two specifications that one executor must run at once. Each gets at most half of the executor's memory.
 *
 * @throws ServiceError as `fitOf` does; `runtime_unavailable` if no executor has two slots, or none can run both
 */
export function fitOfBoth(
  [program, interactor]: readonly [RequestedSpec, RequestedSpec],
  executors: readonly [Executor, ...Executor[]],
): Fit {
  fitOf(program, executors);
  fitOf(interactor, executors, INTERACTOR);
  const fitting = executors.filter((executor) => canRun(program, executor) && canRun(interactor, executor));
  const paired = fitting.filter(({ slots }) => slots >= PAIR_SLOTS);
  const lacks = fitting.length === 0 ? 'can run it beside the program' : 'has two slots and can run both';
  if (paired.length === 0) throw refusal('runtime_unavailable', INTERACTOR, `is not available: no node ${lacks}`);
  return fitAmong(
    paired.map(({ memMbMax, concurrentMemMbMax, ...executor }) => ({
      ...executor,
      concurrentMemMbMax,
      memMbMax: Math.min(memMbMax, Math.floor(concurrentMemMbMax / PAIR_SLOTS)),
    })),
  );
}

function fitAmong(fitting: readonly Executor[]): Fit {
  return {
    isReady: fitting.some(({ isReady }) => isReady),
    memMbMax: Math.max(...fitting.map(({ memMbMax }) => memMbMax)),
  };
}

/** The common offer of all nodes: everything that any of them has, and the strongest isolation class. */
export function togetherOf(executors: readonly [ProviderFacts, ...ProviderFacts[]]): ProviderFacts {
  const [first] = executors;
  const packs = new Map(executors.flatMap(({ runtime_packs }) => runtime_packs.map((pack) => [pack.name, pack])));
  return {
    languages: [...new Set(executors.flatMap(({ languages }) => languages))],
    runtime_packs: [...packs.values()],
    isolation_class: executors
      .map(({ isolation_class }) => isolation_class)
      .reduce((one, other) => (satisfiesIsolation(other, one) ? other : one), first.isolation_class),
    enforced: LIMIT_NAMES.filter((name) => executors.some((executor) => enforcedBy(executor).includes(name))),
  };
}

/** Whether the executor can meet a job's demands. Memory is not compared: the job's limits are clamped to the executor's. */
export function canRun(spec: RequestedSpec, executor: Executor): boolean {
  try {
    checkPolicy(spec, executor);
    return true;
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}

/** Why a job is refused: a demand that no node meets or, if there is no such demand, one that the first node does not meet. */
function refusalOf(spec: RequestedSpec, executors: readonly [Executor, ...Executor[]], at: string): unknown {
  for (const facts of [togetherOf(executors), executors[0]]) {
    try {
      checkPolicy(spec, facts, at);
    } catch (error) {
      return error;
    }
  }
  return new ServiceError('internal', 'No node can run the job.');
}
