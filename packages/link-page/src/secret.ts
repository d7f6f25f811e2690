/**
 * A link's secret, after the `#` in its address. The secret is removed from the address at once, so that it is in no bookmark,
 * picture of the screen or copy of the address. The tab's own history entry keeps it, so a reload or going back shows the result
 * again. A browser may have added the whole address to its list of visited pages before any script ran: docs/THREATS.md.
 */
const SECRET = /^[\w-]{43}$/;

/** The secret; null if the address has none, or only a part of one. */
export function takeSecret(): string | null {
  const given = location.hash.slice(1);
  if (given !== '') history.replaceState({ secret: given }, '', location.pathname);
  const { secret } = (history.state ?? {}) as { readonly secret?: unknown };
  return typeof secret === 'string' && SECRET.test(secret) ? secret : null;
}
