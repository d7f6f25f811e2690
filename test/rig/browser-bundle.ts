/** Bundles a package into a script for a page. */
import { build, type Rolldown } from 'vite';

/** One script that sets a global variable with this name to the entry's exports. */
export async function browserBundle(entry: URL, name: string): Promise<string> {
  const output = await build({
    configFile: false,
    logLevel: 'silent',
    build: { write: false, minify: false, lib: { entry: entry.pathname, formats: ['iife'], name } },
  });
  const [bundle] = output as Rolldown.RolldownOutput[];
  return bundle?.output[0].code ?? '';
}
