/**
 * The secret of a link stands behind the `#` of its address. It leaves the address at once, so that no bookmark, picture of the
 * screen or copy of the address has it. The entry of the tab's own history keeps it: a reload and a way back show the result
 * again. A browser may have written the whole address into its list of visited pages before any script ran: docs/THREATS.md.
 */
const SECRET = /^[\w-]{43}$/;

/** The secret; null if the address has none, or a part of one. */
export function takeSecret(): string | null {
  const given = location.hash.slice(1);
  if (given !== '') history.replaceState({ secret: given }, '', location.pathname);
  const { secret } = (history.state ?? {}) as { readonly secret?: unknown };
  return typeof secret === 'string' && SECRET.test(secret) ? secret : null;
}
