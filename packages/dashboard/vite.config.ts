/** How the dashboard is built: static files below `/dashboard/`, with the editor, the charts and the checks loaded later. */
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Where `vite` passes requests on to while the pages are worked on. */
const service = 'http://127.0.0.1:8080';

export default defineConfig({
  base: '/dashboard/',
  plugins: [react()],
  build: { target: 'es2023', modulePreload: { polyfill: false }, assetsInlineLimit: 0, chunkSizeWarningLimit: 700 },
  server: { proxy: { '/v1': { target: service, ws: true }, '/readyz': service, '/metrics': service } },
});
