/** The mark on every page, a line drawing of 32 by 32: a box, and the tick of somebody who vouches for its content. */
import type { Plugin } from 'vite';

export const MARK = 'M20 5H9a4 4 0 0 0-4 4v14a4 4 0 0 0 4 4h14a4 4 0 0 0 4-4v-8M11 15l5 5L28 7';

/** The icon repeats the light accent colour from `tokens.css`, because no style sheet applies to an icon. */
const ICON = `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32' fill='none' stroke='#1f5f6b' stroke-width='3' stroke-linecap='round' stroke-linejoin='round'><path d='${MARK}'/></svg>`;

/** A Vite plugin that puts the mark into a page's HTML, in place of `MARK` and of an empty icon. */
export function mark(): Plugin {
  const icon = `data:image/svg+xml,${encodeURIComponent(ICON)}`;
  return {
    name: 'mark',
    transformIndexHtml: (html) => html.replace('d="MARK"', `d="${MARK}"`).replace('data:,', icon),
  };
}
