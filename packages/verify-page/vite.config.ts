/** How `verify.html` is built: as one file. Its own policy names its script and style by their digests. */
import { defineConfig } from 'vite';
import { oneFile } from '../../tools/pages/one-file.ts';

/**
 * No tag ends a `plaintext` element. Whatever somebody adds to a file after the page is text in this element, so the page's
 * bytes alone decide what the file shows.
 */
const END = '<plaintext id="export" hidden>';

export default defineConfig({
  plugins: [oneFile({ end: END })],
  build: { target: 'es2022', modulePreload: false, cssCodeSplit: false, assetsInlineLimit: 0 },
});
