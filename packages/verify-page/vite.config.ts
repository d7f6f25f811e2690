/** How `verify.html` is built: one file, whose script and style are named by their digests in its own policy. */
import { defineConfig } from 'vite';
import { mark } from '../../tools/pages/mark.ts';
import { oneFile } from './one-file.ts';

export default defineConfig({
  plugins: [mark(), oneFile()],
  build: { target: 'es2022', modulePreload: false, cssCodeSplit: false, assetsInlineLimit: 0 },
});
