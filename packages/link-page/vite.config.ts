/** How the page for links is built: as one file, like `verify.html`. Unlike that file, it may send requests to its service. */
import { defineConfig } from 'vite';
import { oneFile } from '../../tools/pages/one-file.ts';

export default defineConfig({
  plugins: [oneFile({ connects: "'self'" })],
  build: { target: 'es2022', modulePreload: false, cssCodeSplit: false, assetsInlineLimit: 0 },
});
