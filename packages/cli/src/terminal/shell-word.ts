/** A word as it can be pasted into a POSIX shell: nothing in it is expanded. */
export function shellWord(word: string): string {
  return /^[\w./=@%+,:-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
