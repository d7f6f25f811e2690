/** The URL without its password, for texts that others may read. A text that is not a URL is returned unchanged. */
export function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return url;
  const shown = new URL(url);
  if (shown.password === '') return url;
  shown.password = '';
  return shown.href;
}
