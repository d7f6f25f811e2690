/** How the dashboard is built: static files below `/dashboard/`, with the editor, the charts and the checks loaded later. */
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** The service to which `vite` passes requests on during development. */
const service = 'http://127.0.0.1:8080';

/** Parts that the client loads on first use. No view uses them, and the service is never older than its dashboard. */
const neverLoaded =
  /\/client\/src\/(grade|older-server|program-session|promise|run-tools|verify-record|workspace)\.ts$/;

/** Every view has a client, so the whole client is one file, with the parts that it loads later. One file compresses better. */
const client = /\/client\/src\//;

/**
 * Leaves out the modules that no view loads. If a proxy lacks a route and the client therefore tries the fallback for
 * older services, the call fails as it would without the fallback.
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
