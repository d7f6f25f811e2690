/** How `verify.html` is built: one file, whose script and style are named by their digests in its own policy. */
import { defineConfig } from 'vite';
import { oneFile } from '../../tools/pages/one-file.ts';

export default defineConfig({
  plugins: [oneFile()],
  build: { target: 'es2022', modulePreload: false, cssCodeSplit: false, assetsInlineLimit: 0 },
});
