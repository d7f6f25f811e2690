/** How the page for links is built: as one file like `verify.html`, but it may send requests to the service that it came from. */
import { defineConfig } from 'vite';
import { oneFile } from '../../tools/pages/one-file.ts';

export default defineConfig({
  plugins: [oneFile({ connects: "'self'" })],
  build: { target: 'es2022', modulePreload: false, cssCodeSplit: false, assetsInlineLimit: 0 },
});
