import { describe, expect, test } from 'vitest';
import type { Connection } from './connection.ts';
import { placesOfStrangers, whoGivesWay } from './room.ts';
import { TRANSPORT_BOUNDS } from './transport.ts';

const bounds = TRANSPORT_BOUNDS;
const now = 1_000_000;
/** A socket with nothing left for its reader, and one with bytes that wait. */
const taken = { writableLength: 0 } as Connection['socket'];
const waiting = { writableLength: 1000 } as Connection['socket'];
const underWay = [{}] as Connection['answers'];

/** A connection whose client has sent nothing for `restsFor` milliseconds. */
function connection(given: Partial<Connection> & { readonly restsFor?: number } = {}): Connection {
  const { restsFor = 0, ...members } = given;
  const quiet = { socket: taken, peer: '192.0.2.1', answers: [], requests: 0, tenant: null, closesAt: null };
  return { ...quiet, onEnding: null, progressAt: now, quietSince: now - restsFor, ...members } as unknown as Connection;
}

const many = (length: number, make: (index: number) => Connection) => Array.from({ length }, (_, at) => make(at));
const leaver = (open: readonly Connection[]) => whoGivesWay(open, bounds, now);

describe('strangers (connections without a valid credential) from one peer', () => {
  test('are kept up to the bound, and beyond it the stranger that has sent no request for longest is closed', () => {
    const open = many(bounds.connectionsOfPeer, (at) => connection({ restsFor: at }));
    expect(leaver(open)).toBeNull();
    expect(leaver([...open, connection()])).toBe(open.at(-1));
  });

  test('no longer include a connection once it has shown a valid credential', () => {
    const callers = many(100, () => connection({ tenant: 'acme', restsFor: 60_000 }));
    expect(leaver([...callers, ...many(bounds.connectionsOfPeer, () => connection())])).toBeNull();
  });

  test('are closed only to make room for strangers from the same peer', () => {
    const old = connection({ peer: '198.51.100.7', restsFor: 60_000 });
    const crowd = many(bounds.connectionsOfPeer + 1, (at) => connection({ restsFor: at }));
    expect(leaver([old, ...crowd])).toBe(crowd.at(-1));
  });

  test('are closed in this order, and no others: long without a request, stalled, refused, with most requests, newest', () => {
    const busy = many(bounds.connectionsOfPeer, () => connection({ answers: underWay, requests: 1 }));
    const fresh = connection({ restsFor: 999 });
    expect(leaver([...busy, fresh, connection()])).toBe(fresh);
    const asksMost = connection({ answers: underWay, requests: 500 });
    expect(leaver([...busy, fresh, asksMost, connection({ answers: underWay, requests: 9 })])).toBe(asksMost);
    const refused = connection({ answers: [{ headersSent: true, req: { complete: false } }] as Connection['answers'] });
    expect(leaver([...busy, fresh, asksMost, refused])).toBe(refused);
    const stalled = connection({ answers: underWay, socket: waiting, progressAt: now - 2000 });
    expect(leaver([...busy, fresh, asksMost, refused, stalled])).toBe(stalled);
    const slowHead = connection({ restsFor: 1000 });
    expect(leaver([...busy, fresh, asksMost, refused, stalled, slowHead])).toBe(slowHead);
    const slowReader = connection({ answers: underWay, socket: waiting, progressAt: now - 1999 });
    expect(leaver([...busy, slowReader])).toBeNull();
  });
});

describe('strangers (connections without a valid credential) from all peers', () => {
  const strangers = (count: number) => many(count, (at) => connection({ peer: `peer ${at}`, restsFor: at }));

  test('do not take the places that are reserved for callers', () => {
    const open = strangers(placesOfStrangers(bounds));
    expect(leaver(open)).toBeNull();
    expect(leaver([...open, connection()])).toBe(open.at(-1));
  });

  test('are closed first if their peer has the most strangers', () => {
    const crowd = many(30, () => connection());
    const others = strangers(placesOfStrangers(bounds) - crowd.length + 1);
    expect(crowd).toContain(leaver([...others, ...crowd]));
  });
});

describe('connections of callers', () => {
  const full = bounds.connections - 7;
  const callers = (count: number, given: Partial<Connection> & { readonly restsFor?: number }) =>
    many(count, (at) => connection({ tenant: `tenant ${at}`, ...given }));

  test('a connection that was idle for five seconds is closed if all places are taken and there is no stranger to close', () => {
    const resting = connection({ tenant: 'acme', restsFor: 5000 });
    const others = callers(full - 1, { restsFor: 4999 });
    expect(leaver([...others, resting])).toBe(resting);
    const stranger = connection();
    expect(leaver([...others, resting, stranger])).toBe(stranger);
    expect(leaver([...others.slice(1), resting])).toBeNull();
  });

  test('are closed first if their tenant has the most connections', () => {
    const crowd = many(20, () => connection({ tenant: 'crowd', restsFor: 6000 }));
    const others = callers(full - 20, { restsFor: 60_000 });
    expect(crowd).toContain(leaver([...others, ...crowd]));
  });

  test.each([1, 3, 10])(
    'if %i tenants hold all places, an idle connection is closed for a newcomer, however short its idle time',
    {
      tags: ['CROWD-04'],
    },
    (tenants) => {
      const held = many(full - 1, (at) => connection({ tenant: `tenant ${at % tenants}`, restsFor: at / full }));
      const newcomer = connection();
      expect(leaver([...held, newcomer])?.tenant).toMatch(/^tenant /);
      const one = connection({ tenant: 'quiet', restsFor: 60_000 });
      expect(leaver([...held, one])?.tenant).toMatch(/^tenant /);
    },
  );

  test('the tenant with the most connections loses the one idle for longest, or a stalled one if none is idle', {
    tags: ['CROWD-04'],
  }, () => {
    const busy = many(full - 3, () => connection({ tenant: 'crowd', answers: underWay, socket: waiting }));
    const newcomer = connection();
    const slow = { tenant: 'crowd', answers: underWay, socket: waiting };
    const [stalled, staller] = [2000, 2500].map((age) => connection({ ...slow, progressAt: now - age }));
    expect(leaver([...busy, stalled, staller, newcomer] as Connection[])).toBe(staller);
    const idle = connection({ tenant: 'crowd', restsFor: 1 });
    expect(leaver([...busy, staller, idle, newcomer] as Connection[])).toBe(idle);
  });

  test('are not closed to make room for a crowd of strangers', { tags: ['CROWD-04'] }, () => {
    const held = many(full - 9, (at) => connection({ tenant: 'crowd', restsFor: at }));
    const strangers = many(9, () => connection());
    expect(strangers).toContain(leaver([...held, ...strangers]));
  });

  test('are left alone while they are being answered, carry a stream, or are being closed already', () => {
    const held = [{ answers: underWay }, { onEnding: () => {} }, { closesAt: now + 500 }].flatMap((given) =>
      callers(full / 3, { restsFor: 60_000, ...given }),
    );
    expect(held).toHaveLength(full);
    expect(leaver(held)).toBeNull();
  });
});
