/**
 * Resolves imports between the service's own files, and between the query builder's files, by their addresses alone. A
 * package's name is resolved once for all files of one of our packages. Node would look at the disk for each of these
 * thousands of imports, and that takes a good part of a start. Import this module first; then use dynamic imports for
 * the modules that should load quickly. Each thread has hooks of its own.
 */
import { registerHooks } from 'node:module';

const QUERY_BUILDER = '/node_modules/kysely/dist/';
const INSTALLED = '/node_modules/';
/** The folder that contains this package and its neighbours: `packages`, or `@vouchbox` in an installation. */
const OURS = new URL('../../../', import.meta.url).href;
/** The format of a file, by its ending. All packages of this project consist of modules only. */
const FORMATS: Readonly<Record<string, string>> = { ts: 'module-typescript', js: 'module' };

type Hook = NonNullable<Parameters<typeof registerHooks>[0]['resolve']>;
/** The address of each import, keyed by its name and the importing package. */
const named = new Map<string, ReturnType<Hook>>();

registerHooks({
  resolve(specifier, context, nextResolve) {
    const { parentURL = '', conditions } = context;
    const asUsual = () => nextResolve(specifier, context);
    const isOurs = parentURL.startsWith(OURS) && !parentURL.includes(INSTALLED, OURS.length);
    if (!conditions.includes('import') || !(isOurs || parentURL.includes(QUERY_BUILDER))) return asUsual();
    if (specifier.startsWith('.')) {
      const format = FORMATS[specifier.slice(specifier.lastIndexOf('.') + 1)];
      if (format === undefined) return asUsual();
      return { url: new URL(specifier, parentURL).href, format, shortCircuit: true };
    }
    if (!isOurs) return asUsual();
    const by = `${specifier} ${parentURL.slice(0, parentURL.indexOf('/', OURS.length))}`;
    const found = named.get(by) ?? asUsual();
    named.set(by, found);
    return { ...found, shortCircuit: true };
  },
});
