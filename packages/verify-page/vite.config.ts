/** How `verify.html` is built: one file, whose script and style are named by their digests in its own policy. */
import { defineConfig } from 'vite';
import { oneFile } from '../../tools/pages/one-file.ts';

/**
 * Nothing ends a `plaintext`. What somebody puts behind the page in a file is the text of this element, whatever it is, so that
 * the page's bytes alone say what the file shows.
 */
const END = '<plaintext id="export" hidden>';

export default defineConfig({
  plugins: [oneFile({ end: END })],
  build: { target: 'es2022', modulePreload: false, cssCodeSplit: false, assetsInlineLimit: 0 },
});
