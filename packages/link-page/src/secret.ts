/**
 * The secret of a link, after the `#` of its address. The secret leaves the address at once, so that no bookmark, picture of the
 * screen or copy of the address has it. The entry in the tab's own history keeps it, so a reload or going back shows the result
 * again. A browser may have put the whole address into its list of visited pages before any script ran: docs/THREATS.md.
 */
const SECRET = /^[\w-]{43}$/;

/** The secret; null if the address has no secret, or only a part of one. */
export function takeSecret(): string | null {
  const given = location.hash.slice(1);
  if (given !== '') history.replaceState({ secret: given }, '', location.pathname);
  const { secret } = (history.state ?? {}) as { readonly secret?: unknown };
  return typeof secret === 'string' && SECRET.test(secret) ? secret : null;
}
