/** How the dashboard is built: static files below `/dashboard/`, with the editor, the charts and the checks loaded later. */
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** Where `vite` passes requests on to while the pages are worked on. */
const service = 'http://127.0.0.1:8080';

/** Parts of the client that are loaded once somebody asks. No view does, and a dashboard never has an older service. */
const neverLoaded =
  /\/client\/src\/(grade|older-server|program-session|promise|run-tools|verify-record|workspace)\.ts$/;

/** Every view has a client: all of it is one file, also what a client loads later. It compresses better than its parts do. */
const client = /\/client\/src\//;

/**
 * Leaves out of the files the modules that no view ever loads. What the client takes for an older service may be a proxy that has
 * no such route: the answer is then the failure that it would be without the fallback.
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
