/**
 * Chooses the connection to close when too many are open. A *stranger* is a connection on which no live credential was shown.
 * The number of strangers from one peer is bounded, and all strangers together leave a reserve for callers. A few places are kept
 * free, so that the next connection is accepted and can show its credential. If callers have taken all other places, the tenant
 * with the most connections loses one. Spec § Limits, row on concurrent connections.
 */
import type { Connection } from './connection.ts';
import type { TransportBounds } from './transport.ts';

/** The share of all places that is kept free for the next connections, such as 8 of 256. */
const shareFree = 1 / 32;

/** The share of all places that strangers leave to callers with a live credential, such as 64 of 256. */
const shareReserved = 1 / 4;

/** A stranger whose reader has taken nothing for this long may have to give way. */
const stalledMilliseconds = 2000;

/** For how long a stranger without a request is kept if others can give way. */
const freshMilliseconds = 1000;

/** After more than this number of requests, a stranger may have to give way even while a request is unanswered. */
const requestsMany = 8;

/** A tenant with at most this many connections keeps each connection for this long after the last request on it. */
const callerFew = 8;
const callerRestMilliseconds = 5000;

/** How many strangers there may be. */
export function placesOfStrangers({ connections }: Pick<TransportBounds, 'connections'>): number {
  return connections - Math.floor(connections * shareReserved);
}

type RoomBounds = Pick<TransportBounds, 'connections' | 'connectionsOfPeer'>;

/** The connection that must end now; null if none has to end, or none can give way. */
export function whoGivesWay(open: Iterable<Connection>, bounds: RoomBounds, now: number): Connection | null {
  const all = [...open];
  const strangers = all.filter(({ tenant }) => tenant === null);
  const crowds = sizesOf(strangers, ({ peer }) => peer);
  const crowded = strangers.filter(({ peer }) => (crowds.get(peer) ?? 0) > bounds.connectionsOfPeer);
  const givesWay = (candidates: readonly Connection[]) =>
    first(candidates.flatMap((connection) => strangerPlace(connection, { crowds, now })));
  if (crowded.length > 0) {
    const one = givesWay(crowded);
    if (one !== null) return one;
  }
  const placesFree = Math.floor(bounds.connections * shareFree);
  const isFull = all.length > bounds.connections - placesFree;
  if (!isFull && strangers.length <= placesOfStrangers(bounds)) return null;
  if (!isFull) return givesWay(strangers);
  const callers = callersInOrder(all, now);
  // If callers have nearly all places, the few strangers are newcomers, for whom a place is needed.
  const newcomers = strangers.length > placesFree ? [] : strangers.filter((one) => isFresh(one, now));
  const settled = strangers.filter((one) => !newcomers.includes(one));
  return givesWay(settled) ?? first(callers.crowded) ?? givesWay(newcomers) ?? first(callers.resting);
}

/** A stranger that may be about to send its first request. */
function isFresh({ answers, quietSince }: Connection, now: number): boolean {
  return answers.length === 0 && now - quietSince < freshMilliseconds;
}

/**
 * A connection and its place in the order in which connections give way. Places are compared number by number, and the lower
 * place gives way first.
 */
interface Placed {
  readonly connection: Connection;
  readonly place: readonly number[];
}

interface Surroundings {
  readonly crowds: ReadonlyMap<string, number>;
  readonly now: number;
}

/**
 * The peer with the most strangers loses one first. Its strangers give way in this order: those that have sent no request
 * for long, stalled readers, those whose refused body is being discarded, those with the most requests, and last the newest,
 * because they may soon send a request. Other strangers that are being answered or closed do not give way.
 */
function strangerPlace(connection: Connection, { crowds, now }: Surroundings): Placed[] {
  const { answers, quietSince, progressAt, requests, socket } = connection;
  const at = (rank: number, since: number) => [
    { connection, place: [-(crowds.get(connection.peer) ?? 0), rank, since] },
  ];
  if (isLeaving(connection)) return [];
  if (answers.length === 0) return at(isFresh(connection, now) ? 4 : 0, quietSince);
  if (socket.writableLength > 0 && now - progressAt >= stalledMilliseconds) return at(1, progressAt);
  if (answers.some(({ headersSent, req }) => headersSent && !req.complete)) return at(2, connection.openedAt);
  return requests > requestsMany ? at(3, -requests) : [];
}

/**
 * The tenant with the most connections loses the one that was idle for longest, or else one whose reader takes nothing.
 * `crowded` has the connections of tenants with more than a few connections, and `resting` those of all other tenants.
 */
function callersInOrder(all: readonly Connection[], now: number): { crowded: Placed[]; resting: Placed[] } {
  const callers = all.filter(({ tenant }) => tenant !== null);
  const crowds = sizesOf(callers, ({ tenant }) => tenant ?? '');
  const sizeOf = ({ tenant }: Connection) => crowds.get(tenant ?? '') ?? 0;
  const place = (connection: Connection) => callerPlace(connection, { size: sizeOf(connection), now });
  return {
    crowded: callers.filter((connection) => sizeOf(connection) > callerFew).flatMap(place),
    resting: callers.filter((connection) => sizeOf(connection) <= callerFew).flatMap(place),
  };
}

function callerPlace(connection: Connection, { size, now }: { readonly size: number; readonly now: number }): Placed[] {
  const { answers, quietSince, progressAt, socket } = connection;
  if (isLeaving(connection)) return [];
  if (answers.length === 0) {
    const mayRest = size <= callerFew && now - quietSince < callerRestMilliseconds;
    return mayRest ? [] : [{ connection, place: [-size, 0, quietSince] }];
  }
  const isStalled = socket.writableLength > 0 && now - progressAt >= stalledMilliseconds;
  return isStalled ? [{ connection, place: [-size, 1, progressAt] }] : [];
}

/** Whether a connection is left alone: a stream ends by its own rules, and a closing connection is gone in a moment. */
function isLeaving({ onEnding, closesAt }: Connection): boolean {
  return onEnding !== null || (closesAt !== null && closesAt !== Number.POSITIVE_INFINITY);
}

function first(candidates: readonly Placed[]): Connection | null {
  let found: Placed | null = null;
  for (const candidate of candidates) if (found === null || isBefore(candidate, found)) found = candidate;
  return found?.connection ?? null;
}

function isBefore({ place }: Placed, other: Placed): boolean {
  const at = place.findIndex((number, index) => number !== other.place[index]);
  return at >= 0 && (place[at] ?? 0) < (other.place[at] ?? 0);
}

function sizesOf(connections: readonly Connection[], groupOf: (connection: Connection) => string): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const connection of connections) {
    const group = groupOf(connection);
    sizes.set(group, (sizes.get(group) ?? 0) + 1);
  }
  return sizes;
}
