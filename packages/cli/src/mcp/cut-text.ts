/** Cuts a long text in its middle, so that a model sees how it begins and how it ends. */

/** The most of one stream of output that is shown to a model, in UTF-16 code units. */
export const shownCharsMax = 16 * 1024;

const HEAD_PART = 0.5;

export interface CutText {
  readonly text: string;
  /** How many code units were left out; 0 if none. */
  readonly leftOut: number;
}

/** The text itself, or its head and its tail with a line between them that says how much is left out. */
export function cutText(text: string, charsMax = shownCharsMax): CutText {
  if (text.length <= charsMax) return { text, leftOut: 0 };
  const head = whole(text.slice(0, Math.floor(charsMax * HEAD_PART)));
  const tail = whole(text.slice(text.length - (charsMax - head.length)));
  const leftOut = text.length - head.length - tail.length;
  return { text: `${head}\n[${leftOut} characters left out]\n${tail}`, leftOut };
}

/** Without halves of a character at either end. */
function whole(text: string): string {
  const start = /^[\uDC00-\uDFFF]/.test(text) ? 1 : 0;
  const end = /[\uD800-\uDBFF]$/.test(text) ? text.length - 1 : text.length;
  return text.slice(start, end);
}
