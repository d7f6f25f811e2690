/**
 * Bounds the bodies, waits, streams and large responses in flight, in the service and per tenant. A permit is held until the work
 * that it admits has ended, and is returned exactly once. If all are held, the tenant with the most permits loses one to a tenant
 * with fewer. So other tenants, however many, cannot keep a tenant out. Spec § Response transfer rules, § Errors.
 */
import { ServiceError } from '../ground/service-error.ts';

export const PERMIT_KINDS = ['body', 'wait', 'stream', 'response'] as const;
export type PermitKind = (typeof PERMIT_KINDS)[number];

/** How many permits may be held at once: by all tenants together, and by one tenant. */
export interface PermitBound {
  readonly total: number;
  readonly perTenant: number;
}

/** A permit that takes a place only once it is claimed. Disposing of the permit returns it, and has no effect the second time. */
export interface Reservation extends Disposable {
  /**
   * Says that the request really needs its place. If all places are taken, another request gives way to it.
   *
   * @throws ServiceError `capacity_exhausted` if no other request gives way any more
   */
  claim(): void;
}

/**
 * Ends a permit's holder when another tenant's request takes the permit. It is called at most once, with the refusal
 * for the caller, and must not throw.
 */
export type GiveWay = (refusal: ServiceError) => void;

export interface Permits {
  /**
   * Reserves one permit, at once or not at all, and claims it if a place is free. Other requests give way only to a permit that
   * is claimed: the tenant with the most permits loses its oldest one, unless that tenant would then hold fewer than this one. If
   * there are already as many unclaimed permits as places, a further permit claims its place at once.
   *
   * @throws ServiceError `capacity_exhausted` if no tenant would give way, `tenant_capacity_exhausted` at this tenant's bound
   */
  reserve(kind: PermitKind, tenant: string, giveWay: GiveWay): Reservation;
  /** How many places are taken now. */
  held(kind: PermitKind): number;
  /** Whether more than half of all places are taken: slow holders must then give way. */
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

/** A tenant's permits: the claimed permits, oldest first, and the number of unclaimed permits. */
interface Holder {
  readonly claimed: Set<HeldPermit>;
  unclaimed: number;
}

/** The permits of one kind. A tenant without a permit has no entry. */
interface Pool {
  claimed: number;
  unclaimed: number;
  readonly tenants: Map<string, Holder>;
}

/** The permits of one process. At first none is held. */
export function createPermits(bounds: Readonly<Record<PermitKind, PermitBound>>): Permits {
  const pools = Object.fromEntries(
    PERMIT_KINDS.map((kind) => [kind, { claimed: 0, unclaimed: 0, tenants: new Map<string, Holder>() }]),
  ) as Record<PermitKind, Pool>;
  return {
    reserve(kind, tenant, giveWay) {
      const pool = pools[kind];
      const { total, perTenant } = bounds[kind];
      const holder = pool.tenants.get(tenant) ?? { claimed: new Set(), unclaimed: 0 };
      const own = holder.claimed.size + holder.unclaimed;
      if (own >= perTenant) {
        throw refusal('tenant_capacity_exhausted', `The tenant has ${own} ${NAMES[kind]} in flight already.`);
      }
      if (pool.claimed >= total && whoGivesWay(pool, holder.claimed.size) === null) throw allHeld(kind, total);
      const permit = new HeldPermit(pool, holder, { kind, tenant, total, giveWay });
      if (pool.claimed < total || pool.unclaimed > total) permit.claim();
      return permit;
    },
    held: (kind) => pools[kind].claimed,
    isCrowded: (kind) => pools[kind].claimed * 2 > bounds[kind].total,
  };
}

/** The permit that a tenant with `own` permits takes from another tenant; null if no tenant has more than its fair share. */
function whoGivesWay({ tenants }: Pool, own: number): HeldPermit | null {
  let most: ReadonlySet<HeldPermit> = new Set();
  for (const { claimed } of tenants.values()) if (claimed.size > most.size) most = claimed;
  const [oldest] = most;
  return oldest !== undefined && most.size >= own + 2 ? oldest : null;
}

interface Request {
  readonly kind: PermitKind;
  readonly tenant: string;
  /** How many places of this kind there are. */
  readonly total: number;
  readonly giveWay: GiveWay;
}

class HeldPermit implements Reservation {
  readonly #pool: Pool;
  readonly #request: Request;
  readonly #holder: Holder;
  #state: 'unclaimed' | 'claimed' | 'returned' = 'unclaimed';

  constructor(pool: Pool, holder: Holder, request: Request) {
    this.#pool = pool;
    this.#holder = holder;
    this.#request = request;
    pool.tenants.set(request.tenant, holder);
    holder.unclaimed += 1;
    pool.unclaimed += 1;
  }

  claim(): void {
    if (this.#state !== 'unclaimed') return;
    const { kind, total } = this.#request;
    const { claimed } = this.#holder;
    const isFull = this.#pool.claimed >= total;
    const other = isFull ? whoGivesWay(this.#pool, claimed.size) : null;
    if (isFull && other === null) {
      this[Symbol.dispose]();
      throw allHeld(kind, total);
    }
    this.#state = 'claimed';
    this.#holder.unclaimed -= 1;
    this.#pool.unclaimed -= 1;
    claimed.add(this);
    this.#pool.claimed += 1;
    other?.giveWay();
  }

  giveWay(): void {
    const { kind, giveWay } = this.#request;
    this[Symbol.dispose]();
    const message = `Another request needed a place, and the tenant holds most of the ${NAMES[kind]}.`;
    giveWay(refusal('tenant_capacity_exhausted', message));
  }

  [Symbol.dispose](): void {
    const { claimed } = this.#holder;
    if (this.#state === 'returned') return;
    if (claimed.delete(this)) this.#pool.claimed -= 1;
    else {
      this.#holder.unclaimed -= 1;
      this.#pool.unclaimed -= 1;
    }
    this.#state = 'returned';
    if (claimed.size + this.#holder.unclaimed === 0) this.#pool.tenants.delete(this.#request.tenant);
  }
}

function allHeld(kind: PermitKind, total: number): ServiceError {
  return refusal('capacity_exhausted', `The service has ${total} ${NAMES[kind]} in flight already.`);
}

function refusal(code: 'tenant_capacity_exhausted' | 'capacity_exhausted', message: string): ServiceError {
  return new ServiceError(code, message, { retryAfterSeconds });
}
