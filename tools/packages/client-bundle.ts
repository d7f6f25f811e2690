/** Bundles the client for Node and for browsers, so that it imports no other package. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { build } from 'vite';

/** Writes `index.js`, the files that the client loads on first use, and source maps. */
export async function bundleClient(entry: string, directory: string): Promise<void> {
  await build({
    configFile: false,
    logLevel: 'warn',
    build: {
      lib: { entry, formats: ['es'], fileName: () => 'index.js' },
      outDir: directory,
      emptyOutDir: false,
      sourcemap: true,
      target: 'es2022',
      // Files that are loaded later take shared code from `index.js`, so that a page at first loads only one file. White space is
      // removed; by default, Vite does not do that for libraries.
      rolldownOptions: {
        preserveEntrySignatures: 'allow-extension',
        output: { minify: true, chunkFileNames: '[name].js' },
      },
    },
  });
}

/**
 * The parts of the contract that already have plain types: the names under which the client imports them, and their files. Their
 * declarations are put in a folder beside the client's declarations.
 */
const PLAIN_PARTS: Readonly<Record<string, string>> = { grading: 'grading', 'grading-steps': 'grading-record' };
const PARTS_FOLDER = 'contract';

/**
 * Copies the declarations that `index.d.ts` reaches.
 *
 * @param compiled where the compiler put the client's declarations, beside the contract's
 * @throws Error if one of them names a package, because users who install the client may lack that package
 */
export function copyDeclarations(compiled: string, directory: string): void {
  const reached = new Set(['index.d.ts']);
  for (const file of reached) {
    const [folder] = file.split('/');
    const source =
      folder === PARTS_FOLDER ? join(compiled, '../../protocol/src', basename(file)) : join(compiled, file);
    const text = readFileSync(source, 'utf8').replaceAll(/'@vouchbox\/protocol\/([\w-]+)'/g, (all, name: string) =>
      name in PLAIN_PARTS ? `'./${PARTS_FOLDER}/${PLAIN_PARTS[name]}.ts'` : all,
    );
    for (const [, module = ''] of text.matchAll(/(?:from |import\(|import )["']([^"'\n]+)["']/g)) {
      if (!module.startsWith('.')) throw new Error(`the client's declaration ${file} names the package ${module}`);
      reached.add(join(dirname(file), module.replace(/\.ts$/, '.d.ts')));
    }
    mkdirSync(dirname(join(directory, file)), { recursive: true });
    writeFileSync(join(directory, file), text);
  }
}
