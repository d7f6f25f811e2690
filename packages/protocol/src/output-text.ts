/** Output as the program wrote it. */

/** The text of an output record, and a newline after it unless the record is `partial`. Spec § Events. */
export function outputText({ text, partial }: { readonly text: string; readonly partial?: boolean }): string {
  return partial ? text : `${text}\n`;
}
