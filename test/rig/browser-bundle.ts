/** A package as a page loads it. */
import { build, type Rolldown } from 'vite';

/** One script that puts what the entry exports into a global of this name. */
export async function browserBundle(entry: URL, name: string): Promise<string> {
  const output = await build({
    configFile: false,
    logLevel: 'silent',
    build: { write: false, minify: false, lib: { entry: entry.pathname, formats: ['iife'], name } },
  });
  const [bundle] = output as Rolldown.RolldownOutput[];
  return bundle?.output[0].code ?? '';
}
