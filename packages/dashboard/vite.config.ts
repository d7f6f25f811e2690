/** How the dashboard is built: as static files below `/dashboard/`. The editor, the charts and the checks are loaded later. */
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** The service that gets the requests from `vite` during development. */
const service = 'http://127.0.0.1:8080';

/** Parts that the client loads on first use. No view uses these parts, and the service is never older than its dashboard. */
const neverLoaded =
  /\/client\/src\/(grade|older-server|program-session|promise|run-tools|verify-record|workspace)\.ts$/;

/** Every view has a client, so the client is one file, with the parts that it loads later. One file compresses better. */
const client = /\/client\/src\//;

/**
 * Leaves out the modules that no view loads. If a proxy lacks a route, the client still tries the fallback for older services.
 * The call then fails as it would without a fallback.
 */
function leaveOut(): Plugin {
  const nothing =
    'export const olderResult = async (_session, _id, { missing }) => { throw missing; }, olderReplay = olderResult;';
  return { name: 'leave-out', load: (id) => (neverLoaded.test(id) ? nothing : null) };
}

export default defineConfig({
  base: '/dashboard/',
  plugins: [react(), leaveOut()],
  build: {
    target: 'es2023',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: 'client', test: client }] } },
      checks: { ineffectiveDynamicImport: false },
    },
  },
  server: { proxy: { '/v1': { target: service, ws: true }, '/readyz': service, '/metrics': service } },
});
