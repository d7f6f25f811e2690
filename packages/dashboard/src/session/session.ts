/**
 * Knows who is signed in. The key is only in the memory of the service's client: not in an address, a cookie or storage. When
 * the service refuses the key, the session ends, but the views stay as they are until another key is given.
 */
import { createServiceClient, type ServiceClient, ServiceFailure, type Whoami } from '@vouchbox/client';
import { sha256Hex } from '@vouchbox/evidence';
import { kept } from '../kept.ts';

/** Why a session has ended: the key's time is over, or the service no longer accepts the key. */
export type EndReason = 'expired' | 'refused';

export type Session =
  | { readonly kind: 'signed-out' }
  | { readonly kind: 'signed-in'; readonly client: ServiceClient; readonly whoami: Whoami }
  | { readonly kind: 'ended'; readonly client: ServiceClient; readonly whoami: Whoami; readonly reason: EndReason };

const session = kept<Session>({ kind: 'signed-out' });
export const useSession = session.use;
let expiry: ReturnType<typeof setTimeout> | undefined;

/** The longest delay of `setTimeout`, in milliseconds. */
const timeoutMillisecondsMax = 2 ** 31 - 1;

function change(next: Session): void {
  clearTimeout(expiry);
  if (next.kind === 'signed-in' && next.whoami.expires_at !== null) awaitExpiry(Date.parse(next.whoami.expires_at));
  session.set(next);
}

function awaitExpiry(at: number): void {
  const left = at - Date.now();
  const isLast = left <= timeoutMillisecondsMax;
  expiry = setTimeout(() => (isLast ? end('expired') : awaitExpiry(at)), isLast ? left : timeoutMillisecondsMax);
}

function end(reason: EndReason): void {
  const present = session.get();
  if (present.kind === 'signed-in') change({ ...present, kind: 'ended', reason });
}

/**
 * Asks the service whose key it is, and starts a session with the key.
 * @throws ServiceFailure, TransportFailure or TypeError; the current session then stays as it was
 */
export async function signIn(apiKey: string, onAccepted?: (tenant: string) => void): Promise<void> {
  const sha256 = async (bytes: Uint8Array) => sha256Hex(bytes);
  const client = createServiceClient({ baseUrl: location.origin, apiKey, sha256 });
  const whoami = await client.whoami();
  onAccepted?.(whoami.tenant);
  change({ kind: 'signed-in', client, whoami });
}

/** Forgets the key. */
export function signOut(): void {
  change({ kind: 'signed-out' });
}

/** Ends the session if the error says that the service no longer accepts the session's key. */
export function noticeRefusal(error: unknown): void {
  const present = session.get();
  if (!(error instanceof ServiceFailure) || error.code !== 'unauthorized' || present.kind !== 'signed-in') return;
  const { expires_at } = present.whoami;
  end(expires_at !== null && Date.parse(expires_at) <= Date.now() ? 'expired' : 'refused');
}

/** The session, for a view. Views are shown only after signing in. `isLive` is false after the session has ended. */
export function useCaller(): { readonly client: ServiceClient; readonly whoami: Whoami; readonly isLive: boolean } {
  const present = useSession();
  if (present.kind === 'signed-out') throw new Error('a view is shown without a session');
  return { client: present.client, whoami: present.whoami, isLive: present.kind === 'signed-in' };
}
