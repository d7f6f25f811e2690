/**
 * Lets the files of the query builder find those beside them by their addresses alone. Node would look up the package
 * of every one of the thousands of imports between them, which is most of the time that a thread of the store takes to
 * start. To be imported first; what is to load quickly is then imported dynamically.
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
