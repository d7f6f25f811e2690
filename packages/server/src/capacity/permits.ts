/**
 * How many bodies, waits, streams and large responses may be in flight, for the service and for one tenant. A permit is
 * held for the whole life of what it admits and returned exactly once. Spec § Response transfer rules, § Errors.
 */
import { ServiceError } from '../ground/service-error.ts';

export const PERMIT_KINDS = ['body', 'wait', 'stream', 'response'] as const;
export type PermitKind = (typeof PERMIT_KINDS)[number];

/** How many may be held at once, by all and by one tenant. */
export interface PermitBound {
  readonly total: number;
  readonly perTenant: number;
}

/** Disposing returns it; a second time does nothing. */
export type Permit = Disposable;

export interface Permits {
  /**
   * Takes one permit at once or not at all.
   *
   * @throws ServiceError `capacity_exhausted` if the service holds its bound, `tenant_capacity_exhausted` if the tenant
   * does
   */
  take(kind: PermitKind, tenant: string): Permit;
  /** How many are held now. */
  held(kind: PermitKind): number;
}

const NAMES: Readonly<Record<PermitKind, string>> = {
  body: 'request bodies',
  wait: 'result waits',
  stream: 'streams',
  response: 'large responses',
};

/**
 * A refused request may try again after this many seconds: permits are returned within seconds, or only after minutes.
 */
const retryAfterSeconds = 1;

interface Held {
  total: number;
  readonly tenants: Map<string, number>;
}

/** Permits of one process, none held. */
export function createPermits(bounds: Readonly<Record<PermitKind, PermitBound>>): Permits {
  const held = Object.fromEntries(
    PERMIT_KINDS.map((kind) => [kind, { total: 0, tenants: new Map<string, number>() }]),
  ) as Record<PermitKind, Held>;
  return {
    take(kind, tenant) {
      const { total, tenants } = held[kind];
      const ofTenant = tenants.get(tenant) ?? 0;
      if (ofTenant >= bounds[kind].perTenant) {
        throw refusal('tenant_capacity_exhausted', `The tenant has ${ofTenant} ${NAMES[kind]} in flight already.`);
      }
      if (total >= bounds[kind].total) {
        throw refusal('capacity_exhausted', `The service has ${total} ${NAMES[kind]} in flight already.`);
      }
      held[kind].total = total + 1;
      tenants.set(tenant, ofTenant + 1);
      return new HeldPermit(held[kind], tenant);
    },
    held: (kind) => held[kind].total,
  };
}

class HeldPermit implements Permit {
  readonly #held: Held;
  readonly #tenant: string;
  #isHeld = true;

  constructor(held: Held, tenant: string) {
    this.#held = held;
    this.#tenant = tenant;
  }

  [Symbol.dispose](): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    const { tenants } = this.#held;
    this.#held.total -= 1;
    const left = (tenants.get(this.#tenant) ?? 1) - 1;
    if (left === 0) tenants.delete(this.#tenant);
    else tenants.set(this.#tenant, left);
  }
}

function refusal(code: 'tenant_capacity_exhausted' | 'capacity_exhausted', message: string): ServiceError {
  return new ServiceError(code, message, { retryAfterSeconds });
}
