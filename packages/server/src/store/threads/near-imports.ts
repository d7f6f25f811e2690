/**
 * Resolves imports between the files of the query builder by their addresses alone. Node would look up the package for
 * each of these thousands of imports, which takes most of the start of a store's thread. Import this module first, and
 * then import dynamically what should load quickly.
 */
import { registerHooks } from 'node:module';

const QUERY_BUILDER = '/node_modules/kysely/dist/';

registerHooks({
  resolve(specifier, context, nextResolve) {
    const { parentURL = '' } = context;
    if (!specifier.startsWith('.') || !parentURL.includes(QUERY_BUILDER)) return nextResolve(specifier, context);
    return { url: new URL(specifier, parentURL).href, format: 'module', shortCircuit: true };
  },
});
