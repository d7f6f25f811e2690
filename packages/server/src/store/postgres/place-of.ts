/** Where a database is, without its user, its password and its options: what a message to an operator may say. */
export function placeOf(url: string): string {
  if (!URL.canParse(url)) return 'the database';
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
