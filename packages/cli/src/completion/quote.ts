/** A word in single quotes, as bash and zsh read it: nothing in it is expanded. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The same for fish, where a backslash escapes within single quotes. */
export function quotedForFish(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
