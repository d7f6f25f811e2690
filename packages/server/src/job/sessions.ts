/** Everything that a caller can do with sessions. Each caller has its own sessions. Other callers' sessions look unknown. */
import type { Session, SessionList, SessionRemoval } from '@vouchbox/protocol';
import type { Caller } from '../ground/caller.ts';
import type { Store } from '../store/store.ts';
import { answered } from './answered.ts';
import { sessionNotFound } from './refusals.ts';

export interface Sessions {
  list(caller: Caller): Promise<SessionList>;
  /** Refused as `session_not_found`. */
  session(caller: Caller, name: string): Promise<Session>;
  /** Refused as `session_not_found`. */
  remove(caller: Caller, name: string): Promise<SessionRemoval>;
}

export interface SessionsOptions {
  readonly store: Pick<Store, 'session' | 'sessions' | 'removeSession'>;
}

export function createSessions({ store }: SessionsOptions): Sessions {
  const found = async ({ tenant, principal }: Caller, name: string): Promise<Session> => {
    const session = await store.session({ tenant, principal, name });
    if (session === null) throw sessionNotFound();
    return session;
  };
  const removed = async ({ tenant, principal }: Caller, name: string): Promise<SessionRemoval> => {
    if (!(await store.removeSession({ tenant, principal, name }))) throw sessionNotFound();
    return { name, removed: true };
  };
  return {
    list: ({ tenant, principal }) =>
      answered(store.sessions({ tenant, principal }).then((sessions) => ({ items: [...sessions] }))),
    session: (caller, name) => answered(found(caller, name)),
    remove: (caller, name) => answered(removed(caller, name)),
  };
}
