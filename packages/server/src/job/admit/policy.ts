/**
 * Whether this service can run a specification, given its settings and what its provider proved at the start. This is
 * checked before a job is stored. At execution, isolation is checked again against the observed cell. Spec § POST
 * /v1/jobs 3–5.
 */
import {
  type Language,
  LIMIT_NAMES,
  type RequestedLimits,
  type RequestedSpec,
  satisfiesIsolation,
} from '@vouchbox/protocol';
import type { Provider } from '../../sandbox/sandbox.ts';
import { quoted, refusal } from './refuse.ts';

/** The part of a provider that admission asks about. */
export type ProviderFacts = Pick<Provider, 'enforced' | 'isolation_class' | 'languages' | 'runtime_packs'>;

/** The limits that a provider enforces. Older versions do not state them, but enforced all if they isolated programs at all. */
export function enforcedBy({ enforced, isolation_class }: Pick<Provider, 'enforced' | 'isolation_class'>) {
  return enforced ?? (isolation_class === 'none' ? (['wall_seconds'] as const) : LIMIT_NAMES);
}

/** The limits, clamped to the operator's ceilings and never raised. A default is clamped like any other value. */
export function clampLimits(limits: RequestedLimits, ceilings: RequestedLimits): RequestedLimits {
  const clamped = { ...limits };
  for (const name of LIMIT_NAMES) clamped[name] = Math.min(limits[name], ceilings[name]);
  return clamped;
}

/**
 * Refuses a job that the provider cannot run. `at` is the pointer of the program in the submission.
 *
 * @throws ServiceError `runtime_unavailable`, `minimum_isolation_unsatisfied` or `enforcement_unsatisfied`.
 */
export function checkPolicy(spec: RequestedSpec, provider: ProviderFacts, at = ''): void {
  if (spec.runtime !== null) {
    checkPack(spec.runtime, spec.language, provider, at);
  } else if (!provider.languages.includes(spec.language)) {
    const known = provider.languages.join(', ');
    throw refusal(
      'runtime_unavailable',
      `${at}/language`,
      `${spec.language} is not available on this service; it has ${known}`,
    );
  }
  const { product } = spec;
  if (product !== undefined && !provider.runtime_packs.some(({ digest }) => digest === product.pack_digest)) {
    const problem = 'was built with a runtime pack that no node has now: build it again';
    throw refusal('runtime_unavailable', `${at}/product/job_id`, problem);
  }
  const { minimum_isolation, enforced = [] } = spec.requirements;
  if (!satisfiesIsolation(provider.isolation_class, minimum_isolation)) {
    throw refusal(
      'minimum_isolation_unsatisfied',
      `${at}/requirements/minimum_isolation`,
      `${minimum_isolation} is not satisfied by the class of this service, ${provider.isolation_class}`,
    );
  }
  const missing = enforced.filter((name) => !enforcedBy(provider).includes(name));
  if (missing.length > 0) {
    const held = enforcedBy(provider).join(', ') || 'none';
    throw refusal(
      'enforcement_unsatisfied',
      `${at}/requirements/enforced`,
      `${missing.join(', ')} must be held, and this host holds ${held}`,
    );
  }
}

function checkPack(name: string, language: Language, provider: ProviderFacts, at: string): void {
  const pack = provider.runtime_packs.find((candidate) => candidate.name === name);
  if (pack === undefined) {
    const known = provider.runtime_packs.map((each) => each.name).join(', ') || 'none';
    throw refusal(
      'runtime_unavailable',
      `${at}/runtime`,
      `${quoted(name)} is not a runtime pack of this service; it has ${known}`,
    );
  }
  if (!pack.languages.includes(language)) {
    throw refusal('runtime_unavailable', `${at}/runtime`, `${quoted(name)} does not run ${language}`);
  }
}
