/** How `verify.html` is built: one file, whose script and style are named by their digests in its own policy. */
import { defineConfig } from 'vite';
import { oneFile } from '../../tools/pages/one-file.ts';

/**
 * No tag ends a `plaintext` element. Whatever somebody puts behind the page in a file is text of this element, so that the
 * page's bytes alone decide what the file shows.
 */
const END = '<plaintext id="export" hidden>';

export default defineConfig({
  plugins: [oneFile({ end: END })],
  build: { target: 'es2022', modulePreload: false, cssCodeSplit: false, assetsInlineLimit: 0 },
});
