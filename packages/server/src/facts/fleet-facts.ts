/** What a node tells the other nodes of its service, and the choice of the one node that does a task for all. */
import {
  type CanaryStatus,
  ISOLATION_CLASSES,
  type LimitName,
  NODE_ROLES,
  type NodeRole,
  type RequestedSpec,
  type ServiceStatus,
  satisfiesIsolation,
} from '@vouchbox/protocol';
import { VERSION } from '../ground/version.ts';
import { canRun, type Executor } from '../job/admit/fit.ts';
import { enforcedBy } from '../job/admit/policy.ts';
import type { About, Topic } from '../job/nudges.ts';
import type { SigningProblem } from '../job/sign/attestor.ts';
import type { Provider } from '../sandbox/sandbox.ts';
import type { Config } from '../settings/config.ts';
import type { ExecutorFacts, Fleet, LiveNode, NodeFacts } from '../store/fleet.ts';
import type { Abilities } from '../store/records/inputs.ts';
import { anyPackOf, exactPack, withTools } from '../store/records/rows.ts';
import type { FleetFigures } from '../telemetry/service-metrics.ts';
import type { ProviderHealth } from './provider-health.ts';
import type { LogFacts, Signing } from './signer-facts.ts';

export interface NodeParts {
  readonly config: Pick<Config, 'concurrency' | 'concurrentMemMbMax' | 'roles'>;
  /** Null if this node runs no programs. */
  readonly cells: {
    readonly provider: Pick<
      Provider,
      'backend' | 'enforced' | 'hasLoopback' | 'isolation_class' | 'languages' | 'runtime_packs'
    >;
    readonly health: Pick<ProviderHealth, 'isReady'>;
  } | null;
  /** Null if this node does not sign. */
  readonly signing: Signing | null;
  readonly dispatcher: { readonly inFlight: number };
  /** The results of this node's canaries. Absent or null if it runs none. */
  readonly canaries?: { facts(): readonly CanaryStatus[] } | null;
}

export function nodeFactsOf(parts: NodeParts): NodeFacts {
  const { config, cells, signing } = parts;
  return {
    version: VERSION,
    roles: config.roles,
    executor: cells === null ? null : executorOf(parts, cells),
    signs_with: signing?.keys.published()?.key_id ?? null,
    signing_problem: signing?.attestor.problem ?? null,
    log_problem: signing?.logKeeper?.problem ?? null,
    log_witnesses: signing?.logKeeper?.witnesses ?? [],
  };
}

/** The results of the canaries of all living nodes. */
export function canariesOf(fleet: Pick<Fleet, 'nodes'>): NonNullable<ServiceStatus['canaries']> {
  return fleet
    .nodes()
    .flatMap(({ node, facts }) => (facts?.executor?.canaries ?? []).map((canary) => ({ ...canary, node })));
}

function executorOf(
  { config, dispatcher, canaries = null }: NodeParts,
  { provider, health }: NonNullable<NodeParts['cells']>,
): ExecutorFacts {
  const { backend, hasLoopback, isolation_class, languages, runtime_packs, enforced } = provider;
  return {
    backend,
    has_loopback: hasLoopback,
    isolation_class,
    ...(enforced !== undefined && { enforced }),
    languages,
    runtime_packs,
    slots: config.concurrency,
    concurrent_mem_mb_max: config.concurrentMemMbMax,
    ready: health.isReady(),
    slots_used: dispatcher.inFlight,
    ...(canaries !== null && { canaries: canaries.facts() }),
  };
}

/**
 * The demands that a node satisfies, each as the store writes it: the isolation class and, if limits must be enforced, these
 * limits as JSON.
 */
function demandsMetBy(provider: Pick<Provider, 'enforced' | 'isolation_class'>): string[] {
  const classes = ISOLATION_CLASSES.filter((demanded) => satisfiesIsolation(provider.isolation_class, demanded));
  let sets: LimitName[][] = [[]];
  for (const name of enforcedBy(provider)) sets = sets.concat(sets.map((set) => [...set, name]));
  return classes.flatMap((name) => sets.map((set) => (set.length === 0 ? name : name + JSON.stringify(set))));
}

/** What a node can run. */
export function abilitiesOf(
  provider: Pick<Provider, 'enforced' | 'isolation_class' | 'languages' | 'runtime_packs'>,
  memMbMax: number,
): Abilities {
  const { languages } = provider;
  const packs = provider.runtime_packs.flatMap(({ name, digest }) => [name, exactPack(digest)]);
  return {
    languages,
    packs: [...packs, ...[...packs, ...languages.map(anyPackOf)].map(withTools)],
    isolation: demandsMetBy(provider),
    memMbMax,
  };
}

/** Another node that runs jobs. */
export interface OtherExecutor extends Executor {
  readonly node: number;
  readonly hasLoopback: boolean;
  /** Jobs that it runs at once. */
  readonly slots: number;
  /** How many of these slots were in use when the node's facts were last read. */
  readonly slots_used: number;
}

/** The other living nodes that run jobs. */
export function othersOf(fleet: Pick<Fleet, 'node' | 'nodes'>): readonly OtherExecutor[] {
  return fleet.nodes().flatMap(({ node, facts }) => {
    if (node === fleet.node || !facts?.executor) return [];
    const { concurrent_mem_mb_max: memMbMax, has_loopback: hasLoopback, ready: isReady, ...executor } = facts.executor;
    return [{ node, ...executor, memMbMax, concurrentMemMbMax: memMbMax, isReady, hasLoopback }];
  });
}

/** The oldest living node with a role, which does the tasks that only one node should do. Null if there is none. */
export function firstWith(role: NodeRole, fleet: Pick<Fleet, 'nodes'>): number | null {
  return fleet.nodes().find(({ facts }) => facts?.roles.includes(role))?.node ?? null;
}

/**
 * The node that signs: the oldest living node that can sign. If none can sign, the oldest node with the role keeps trying.
 * Null if no node has the role.
 */
export function signingNode(fleet: Pick<Fleet, 'nodes'>): number | null {
  const signers = signersOf(fleet);
  return (signers.find(canSign) ?? signers[0])?.node ?? null;
}

/** Why nothing is signed, as reported by the node that should sign. Null if that node can sign, or if there is no such node. */
export function signingProblemOf(fleet: Pick<Fleet, 'nodes'>): SigningProblem | null {
  const signers = signersOf(fleet);
  return signers.some(canSign) ? null : (signers[0]?.facts?.signing_problem ?? null);
}

/** The log's state as reported by the signing node. If there is no signing node, no problem and no witnesses are reported. */
export function logFactsOf(fleet: Pick<Fleet, 'nodes'>): LogFacts {
  const signing = signingNode(fleet);
  const facts = fleet.nodes().find(({ node }) => node === signing)?.facts;
  return { problem: facts?.log_problem ?? null, witnesses: facts?.log_witnesses ?? [] };
}

function signersOf(fleet: Pick<Fleet, 'nodes'>): readonly LiveNode[] {
  return fleet.nodes().filter(({ facts }) => facts?.roles.includes('signer') === true && facts.signs_with !== null);
}

function canSign({ facts }: LiveNode): boolean {
  return !facts?.signing_problem;
}

/**
 * Which nodes must be told that a topic has changed: one, or all that follow the topic. Null if only this process must be told.
 */
export function addresseeOf(topic: Topic, { spec, node }: About, fleet: Pick<Fleet, 'node' | 'nodes'>) {
  if (topic === 'queue') return executorFor(spec, fleet);
  if (topic === 'outbox' || topic === 'log' || topic === 'promises') return signingNode(fleet);
  if (topic === 'contents' || topic === 'objects' || topic === 'gradings') return firstWith('api', fleet);
  return topic.startsWith('stop ') ? (node ?? null) : 'followers';
}

/**
 * Another node that can run a job, if possible one with a free slot. It is chosen at random, so that many jobs wake many nodes.
 * Null if there is none.
 */
function executorFor(spec: RequestedSpec | undefined, fleet: Pick<Fleet, 'node' | 'nodes'>): number | null {
  const fits = (executor: OtherExecutor) =>
    spec === undefined || (spec.limits.mem_mb <= executor.memMbMax && canRun(spec, executor));
  const able = othersOf(fleet).filter((executor) => executor.isReady && fits(executor));
  return anyOf(able.filter(hasFreeSlot)) ?? anyOf(able);
}

/** Another node that had a free slot when the nodes were last read; null if none had one. */
export function freeExecutor(fleet: Pick<Fleet, 'node' | 'nodes'>): number | null {
  return anyOf(othersOf(fleet).filter((executor) => executor.isReady && hasFreeSlot(executor)));
}

function hasFreeSlot({ slots, slots_used }: OtherExecutor): boolean {
  return slots_used < slots;
}

function anyOf(executors: readonly OtherExecutor[]): number | null {
  return executors[Math.floor(Math.random() * executors.length)]?.node ?? null;
}

/** The living nodes that serve, as the metrics count them. */
export function fleetFiguresOf(fleet: Pick<Fleet, 'nodes' | 'lateBeats'>): FleetFigures {
  const serving = fleet.nodes().filter(({ facts }) => facts !== null);
  const count = (role: NodeRole) => serving.filter(({ facts }) => facts?.roles.includes(role)).length;
  const sum = (figure: (node: LiveNode) => number) => serving.reduce((total, node) => total + figure(node), 0);
  return {
    nodes: new Map(NODE_ROLES.map((role) => [role, count(role)])),
    slots: sum(({ facts }) => facts?.executor?.slots ?? 0),
    claims: sum(({ claims }) => claims),
    lateBeats: fleet.lateBeats,
  };
}

/** The living nodes that serve, as callers with the scope `service:read` see them. */
export function nodesOf(fleet: Pick<Fleet, 'nodes'>): NonNullable<ServiceStatus['nodes']> {
  return fleet.nodes().flatMap(({ node, facts, claims, beat_at }) => {
    if (facts === null) return [];
    const { version, roles, executor, signs_with, signing_problem } = facts;
    return [
      {
        node,
        version,
        roles: [...roles],
        isolation_class: executor?.isolation_class ?? null,
        slots: executor?.slots ?? 0,
        slots_used: executor?.slots_used ?? 0,
        claims,
        signs: roles.includes('signer') && signs_with !== null && signing_problem === null,
        last_beat_at: beat_at,
      },
    ];
  });
}
