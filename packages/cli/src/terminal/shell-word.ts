/** A word in a form that can be pasted into a POSIX shell, which then expands nothing in it. */
export function shellWord(word: string): string {
  return /^[\w./=@%+,:-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
