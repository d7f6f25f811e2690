/**
 * The differences between a service that has its store to itself and a service whose nodes share the store. The start makes a
 * `Membership` of one kind or the other. The stages of a job use `store.fleet` only for what one node does for the others.
 */
import type { CanaryStatus, NodeRole, ServiceStatus } from '@vouchbox/protocol';
import { type CredentialRows, rememberedRows, sharedRows } from './access/credential-rows.ts';
import { createRateBudget, type RateBound, type RateBudget } from './capacity/rate.ts';
import { type Others, sharedRate } from './capacity/shared-rate.ts';
import {
  abilitiesOf,
  addresseeOf,
  canariesOf,
  firstWith,
  fleetFiguresOf,
  freeExecutor,
  type NodeParts,
  nodeFactsOf,
  nodesOf,
  type OtherExecutor,
  othersOf,
  signingNode,
} from './facts/fleet-facts.ts';
import type { DispatcherOptions } from './job/dispatch/dispatcher.ts';
import { type FleetWorkOptions, nudgesOfFleet, workInFleet } from './job/dispatch/fleet-work.ts';
import type { Dispatching } from './job/dispatch/queue-only.ts';
import { createNudges, type Nudges } from './job/nudges.ts';
import type { Provider } from './sandbox/sandbox.ts';
import type { OpenSigningOptions } from './start/open-signing.ts';
import type { TelemetryOptions } from './start/open-telemetry.ts';
import type { Fleet } from './store/fleet.ts';
import type { Store } from './store/store.ts';

export interface Membership {
  readonly rows: CredentialRows;
  /** The nudges that also reach other nodes. */
  readonly nudges: Nudges;
  /** Nudges that stay in this process, so that a message from another node is not repeated to other nodes. */
  readonly ownNudges: Nudges;
  /** The other living nodes that run jobs. */
  readonly others: () => readonly OtherExecutor[];
  /** Which node's turn it is to sign. */
  readonly signingTurns: Pick<OpenSigningOptions, 'isOurTurn' | 'onProblemChange'>;
  /** The metrics about the other nodes, and about the jobs that this node took over from lost nodes. */
  readonly fleetFigures: TelemetryOptions['fleetFigures'];
  /** Whether this node is the oldest node with the role. The oldest node does what only one node should do. */
  isFirst(role: NodeRole): boolean;
  /** Each tenant's budget, which is the same whichever nodes the tenant asks. `word` names the budget in the nodes' messages. */
  budget(rate: RateBound, word: string): RateBudget;
  /** Says which jobs the store may give to this node. */
  abilities(provider: Provider, memMbMax: number): Pick<DispatcherOptions, 'abilities'>;
  /** The part of the status that names the nodes. */
  nodes(): Pick<ServiceStatus, 'nodes'>;
  /** The results of canaries, either this node's or those of all nodes. */
  canaries(own: readonly CanaryStatus[]): NonNullable<ServiceStatus['canaries']>;
  /**
   * Begins to work with the other nodes. Once another node has taken over this node's jobs, this node ends them and
   * `lost` resolves. `lost` is inside an object, so that `await join(…)` does not wait for it.
   */
  join(parts: NodeParts, work: Joining): Promise<{ lost: Promise<Error> }>;
}

export interface Joining extends Omit<FleetWorkOptions, 'fleet' | 'nudges' | 'onRecovered' | 'anotherExecutor'> {
  readonly dispatcher: Dispatching;
}

export function membershipIn(store: Store): Membership {
  return store.fleet === null ? alone(store) : inFleet(store, store.fleet);
}

function alone(store: Store): Membership {
  const nudges = createNudges();
  return {
    rows: rememberedRows(store),
    nudges,
    ownNudges: nudges,
    others: () => [],
    signingTurns: {},
    fleetFigures: () => null,
    isFirst: () => true,
    budget: (rate) => createRateBudget(rate),
    abilities: () => ({}),
    nodes: () => ({}),
    canaries: (own) => [...own],
    join: async () => ({ lost: new Promise(() => {}) }),
  };
}

function inFleet(store: Store, fleet: Fleet): Membership {
  const ownNudges = createNudges();
  let recoveredJobs = 0;
  const onRecovered = (jobs: number) => {
    recoveredJobs += jobs;
  };
  return {
    rows: sharedRows(store),
    nudges: nudgesOfFleet(ownNudges, fleet, (topic, about) => addresseeOf(topic, about, fleet)),
    ownNudges,
    others: () => othersOf(fleet),
    signingTurns: signingTurns(fleet, ownNudges),
    fleetFigures: () => ({ ...fleetFiguresOf(fleet), recoveredJobs }),
    isFirst: (role) => firstWith(role, fleet) === fleet.node,
    budget: (rate, word) => sharedRate(createRateBudget(rate), othersWithBudgets(fleet), word),
    abilities: (provider, memMbMax) => ({ abilities: () => abilitiesOf(provider, memMbMax) }),
    nodes: () => ({ nodes: nodesOf(fleet) }),
    canaries: () => canariesOf(fleet),
    async join(parts, work) {
      const anotherExecutor = () => freeExecutor(fleet);
      workInFleet({ fleet, nudges: ownNudges, onRecovered, anotherExecutor, ...work });
      await fleet.announce(() => nodeFactsOf(parts));
      return { lost: lostBy(fleet, work) };
    },
  };
}

/** The other nodes that serve callers, since only these have budgets. */
function othersWithBudgets(fleet: Fleet): Others {
  return {
    node: fleet.node,
    owners: () => fleet.nodes().flatMap(({ node, facts }) => (facts?.roles.includes('api') ? [node] : [])),
    tell: (topic, to) => fleet.tell(topic, to),
    listen: (listener) => fleet.listen(listener),
  };
}

/**
 * Whose turn it is to sign. One node signs, and tells the other nodes when it cannot. A node looks for ended jobs as soon
 * as its turn comes.
 */
function signingTurns(fleet: Fleet, nudges: Nudges): Membership['signingTurns'] {
  const isOurTurn = () => signingNode(fleet) === fleet.node;
  let wasOurs = false;
  fleet.listen({
    beat() {
      const isOurs = isOurTurn();
      if (isOurs && !wasOurs) nudges.send('outbox');
      wasOurs = isOurs;
    },
  });
  return { isOurTurn, onProblemChange: () => fleet.look() };
}

/** Ends this node's jobs once another node has taken them over, and then resolves. */
async function lostBy(fleet: Fleet, { dispatcher, log }: Joining): Promise<Error> {
  const error = await fleet.lost;
  log.fatal({ err: error }, 'this node can change nothing more, and ends');
  dispatcher.abandon();
  return error;
}
