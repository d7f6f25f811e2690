/** How the dashboard is built: static files below `/dashboard/`, with the editor, the charts and the checks loaded later. */
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** Where `vite` passes requests on to while the pages are worked on. */
const service = 'http://127.0.0.1:8080';

/** Parts of the client that it loads once somebody asks for them, and no view does. */
const neverLoaded = /\/client\/src\/(grade|verify-record|workspace)\.ts$/;

/** Leaves out of the files what no view ever loads. */
function leaveOut(): Plugin {
  return { name: 'leave-out', load: (id) => (neverLoaded.test(id) ? 'export {};' : null) };
}

export default defineConfig({
  base: '/dashboard/',
  plugins: [react(), leaveOut()],
  build: { target: 'es2023', modulePreload: { polyfill: false }, assetsInlineLimit: 0, chunkSizeWarningLimit: 700 },
  server: { proxy: { '/v1': { target: service, ws: true }, '/readyz': service, '/metrics': service } },
});
