/** Bundles the client without imports of other packages, for Node and for browsers. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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
      // Files that are loaded later take shared code from `index.js`, so that a page first loads only one file. The white space
      // is removed, which Vite does not do for libraries by default.
      rolldownOptions: {
        preserveEntrySignatures: 'allow-extension',
        output: { minify: true, chunkFileNames: '[name].js' },
      },
    },
  });
}

/** The part of the contract that already has plain types. Its declarations are put beside those of the client. */
const GRADING = '@vouchbox/protocol/grading';

/**
 * Copies the declarations that `index.d.ts` reaches, because the others name packages that the client does not have.
 * @param compiled where the compiler put the declarations of the client, beside those of the contract
 */
export function copyDeclarations(compiled: string, directory: string): void {
  const reached = new Set(['index.d.ts']);
  for (const file of reached) {
    const text = readFileSync(join(compiled, file), 'utf8').replaceAll(`'${GRADING}'`, "'./grading.ts'");
    for (const [, module = ''] of text.matchAll(/(?:from|import) ?\(?["'](\.{1,2}\/[^"'\n]+)\.ts["']/g)) {
      if (module !== './grading') reached.add(join(dirname(file), `${module}.d.ts`));
    }
    mkdirSync(dirname(join(directory, file)), { recursive: true });
    writeFileSync(join(directory, file), text);
  }
  cpSync(join(compiled, '../../protocol/src/grading.d.ts'), join(directory, 'grading.d.ts'));
}
