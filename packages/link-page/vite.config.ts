/** How the page of links is built: one file like `verify.html`, which may send requests to the service that it came from. */
import { defineConfig } from 'vite';
import { oneFile } from '../../tools/pages/one-file.ts';

export default defineConfig({
  plugins: [oneFile({ connects: "'self'" })],
  build: { target: 'es2022', modulePreload: false, cssCodeSplit: false, assetsInlineLimit: 0 },
});
