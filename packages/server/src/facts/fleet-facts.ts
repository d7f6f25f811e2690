/** What a node says of itself to the other nodes of its service, and which of them does what only one should do. */
import { ISOLATION_CLASSES, satisfiesIsolation } from '@vouchbox/protocol';
import { VERSION } from '../ground/version.ts';
import type { Executor } from '../job/admit/fit.ts';
import type { Provider } from '../sandbox/sandbox.ts';
import type { Config } from '../settings/config.ts';
import { type Fleet, NODE_ROLES, type NodeFacts, type NodeRole } from '../store/fleet.ts';
import type { Abilities } from '../store/jobs/claims.ts';
import type { ProviderHealth } from './provider-health.ts';
import type { Signing } from './signer-facts.ts';

export interface NodeParts {
  readonly config: Pick<Config, 'concurrency' | 'concurrentMemMbMax'>;
  readonly provider: Pick<Provider, 'backend' | 'isolation_class' | 'languages' | 'runtime_packs'>;
  readonly health: Pick<ProviderHealth, 'isReady'>;
  /** Null if this node does not sign. */
  readonly signing: Pick<Signing, 'keys'> | null;
}

export function nodeFactsOf({ config, provider, health, signing }: NodeParts): NodeFacts {
  const { backend, isolation_class, languages, runtime_packs } = provider;
  return {
    version: VERSION,
    roles: NODE_ROLES,
    executor: {
      backend,
      isolation_class,
      languages,
      runtime_packs,
      slots: config.concurrency,
      concurrent_mem_mb_max: config.concurrentMemMbMax,
      ready: health.isReady(),
    },
    signs_with: signing?.keys.published().key_id ?? null,
  };
}

/** What a node can run. */
export function abilitiesOf(provider: NodeParts['provider'], memMbMax: number): Abilities {
  return {
    languages: provider.languages,
    packs: provider.runtime_packs.map(({ name }) => name),
    isolation: ISOLATION_CLASSES.filter((demanded) => satisfiesIsolation(provider.isolation_class, demanded)),
    memMbMax,
  };
}

/** The other living nodes that run jobs. */
export function othersOf(fleet: Fleet): readonly Executor[] {
  return fleet.nodes().flatMap(({ node, facts }) => {
    if (node === fleet.node || !facts?.executor) return [];
    const { concurrent_mem_mb_max: memMbMax, ready: isReady, ...executor } = facts.executor;
    return [{ ...executor, memMbMax, isReady }];
  });
}

/** The oldest living node with a role: it does what only one node should do. Null if there is none. */
export function firstWith(role: NodeRole, fleet: Fleet): number | null {
  return fleet.nodes().find(({ facts }) => facts?.roles.includes(role))?.node ?? null;
}
