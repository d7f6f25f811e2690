/**
 * How many bodies, waits, streams and large responses may be in flight, for the service and for one tenant. A permit is held for
 * the whole life of what it admits and returned exactly once. If all are held, the tenant that holds most loses one to a tenant
 * that holds fewer, so that no number of tenants keeps out another. Spec § Response transfer rules, § Errors.
 */
import { ServiceError } from '../ground/service-error.ts';

export const PERMIT_KINDS = ['body', 'wait', 'stream', 'response'] as const;
export type PermitKind = (typeof PERMIT_KINDS)[number];

/** How many permits may be held at once, by all tenants and by one tenant. */
export interface PermitBound {
  readonly total: number;
  readonly perTenant: number;
}

/** A permit. Disposing returns it; disposing it again does nothing. */
export type Permit = Disposable;

/** A permit that may exceed the bound until it is claimed. */
export interface Reservation extends Permit {
  /**
   * Says that the request really needs its place. If all places are taken, another request then gives way.
   *
   * @throws ServiceError `capacity_exhausted` if none does any more
   */
  claim(): void;
}

/**
 * Ends the holder of a permit. Called at most once, when a request of another tenant takes the permit, with the words
 * for the caller. It must not throw.
 */
export type GiveWay = (refusal: ServiceError) => void;

export interface Permits {
  /**
   * Takes one permit at once or not at all. If all permits are held, the tenant that holds most loses its oldest permit, unless
   * it would then hold fewer than this tenant.
   *
   * @throws ServiceError `capacity_exhausted` if no tenant gives way, `tenant_capacity_exhausted` if the tenant holds its bound
   */
  take(kind: PermitKind, tenant: string, giveWay: GiveWay): Permit;
  /** The same for a request that may be answered without a place, as refusals are: no other request gives way to those. */
  reserve(kind: PermitKind, tenant: string, giveWay: GiveWay): Reservation;
  /** How many are held now. */
  held(kind: PermitKind): number;
  /** Whether more than half of all permits are held: slow holders must then give way. */
  isCrowded(kind: PermitKind): boolean;
}

const NAMES: Readonly<Record<PermitKind, string>> = {
  body: 'request bodies',
  wait: 'result waits',
  stream: 'streams',
  response: 'large responses',
};

/** After how many seconds a refused request may try again. Some permits are returned within seconds, others after minutes. */
const retryAfterSeconds = 1;

/** The permits of one kind. A tenant that holds none has no entry; each entry has its permits, the oldest first. */
interface Pool {
  total: number;
  readonly tenants: Map<string, Set<HeldPermit>>;
}

/** Permits of one process, none held. */
export function createPermits(bounds: Readonly<Record<PermitKind, PermitBound>>): Permits {
  const pools = Object.fromEntries(
    PERMIT_KINDS.map((kind) => [kind, { total: 0, tenants: new Map<string, Set<HeldPermit>>() }]),
  ) as Record<PermitKind, Pool>;
  return {
    take(kind, tenant, giveWay) {
      const permit = this.reserve(kind, tenant, giveWay);
      permit.claim();
      return permit;
    },
    reserve(kind, tenant, giveWay) {
      const pool = pools[kind];
      const { total, perTenant } = bounds[kind];
      const own = pool.tenants.get(tenant)?.size ?? 0;
      if (own >= perTenant) {
        throw refusal('tenant_capacity_exhausted', `The tenant has ${own} ${NAMES[kind]} in flight already.`);
      }
      if (pool.total >= total && whoGivesWay(pool, own) === null) throw allHeld(kind, total);
      return new HeldPermit(pool, { kind, tenant, total, giveWay });
    },
    held: (kind) => pools[kind].total,
    isCrowded: (kind) => pools[kind].total * 2 > bounds[kind].total,
  };
}

/** The permit that makes room for a tenant that holds `own`; null if each tenant has its fair share. */
function whoGivesWay({ tenants }: Pool, own: number): HeldPermit | null {
  let most: ReadonlySet<HeldPermit> = new Set();
  for (const held of tenants.values()) if (held.size > most.size) most = held;
  const [oldest] = most;
  return oldest !== undefined && most.size >= own + 2 ? oldest : null;
}

interface Request {
  readonly kind: PermitKind;
  readonly tenant: string;
  /** How many permits of this kind there are. */
  readonly total: number;
  readonly giveWay: GiveWay;
}

class HeldPermit implements Reservation {
  readonly #pool: Pool;
  readonly #request: Request;
  #isClaimed: boolean;

  constructor(pool: Pool, request: Request) {
    this.#pool = pool;
    this.#request = request;
    this.#isClaimed = pool.total < request.total;
    const held = pool.tenants.get(request.tenant);
    if (held === undefined) pool.tenants.set(request.tenant, new Set([this]));
    else held.add(this);
    pool.total += 1;
  }

  claim(): void {
    const { kind, tenant, total } = this.#request;
    const own = this.#pool.tenants.get(tenant);
    if (this.#isClaimed || own?.has(this) !== true) return;
    this.#isClaimed = true;
    if (this.#pool.total <= total) return;
    const other = whoGivesWay(this.#pool, own.size - 1);
    if (other === null) {
      this[Symbol.dispose]();
      throw allHeld(kind, total);
    }
    other[Symbol.dispose]();
    const message = `Another request needed a place, and the tenant holds most of the ${NAMES[kind]}.`;
    other.#request.giveWay(refusal('tenant_capacity_exhausted', message));
  }

  [Symbol.dispose](): void {
    const { tenants } = this.#pool;
    const held = tenants.get(this.#request.tenant);
    if (held?.delete(this) !== true) return;
    this.#pool.total -= 1;
    if (held.size === 0) tenants.delete(this.#request.tenant);
  }
}

function allHeld(kind: PermitKind, total: number): ServiceError {
  return refusal('capacity_exhausted', `The service has ${total} ${NAMES[kind]} in flight already.`);
}

function refusal(code: 'tenant_capacity_exhausted' | 'capacity_exhausted', message: string): ServiceError {
  return new ServiceError(code, message, { retryAfterSeconds });
}
