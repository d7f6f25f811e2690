/** Builds pages with Vite. Its arguments are the folders of the pages' packages. The set-up starts it. docs/decisions/0036. */
import { globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { mark } from './mark.ts';
import { builtPages } from './page-packages.mjs';

const packages = join(import.meta.dirname, '../../packages');

/** Files with fewer bytes are not compressed, because that would hardly make them smaller. */
const compressedFromBytes = 1024;

/** Builds a page in a temporary directory and then moves it, so that a service that starts meanwhile finds it whole. */
async function buildPage(folder: string): Promise<void> {
  mkdirSync(builtPages, { recursive: true });
  const partial = mkdtempSync(join(builtPages, `.${folder}-`));
  try {
    await build({
      root: join(packages, folder),
      configFile: join(packages, folder, 'vite.config.ts'),
      logLevel: 'warn',
      plugins: [mark()],
      build: { outDir: join(partial, 'page'), emptyOutDir: true },
    });
    compressBeside(join(partial, 'page'));
    rmSync(join(builtPages, folder), { recursive: true, force: true });
    renameSync(join(partial, 'page'), join(builtPages, folder));
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

/** Writes a gzip of each text file beside the file. The service sends the gzip to clients that accept it. */
function compressBeside(directory: string): void {
  for (const file of globSync('**/*.{html,js,css,svg,json}', { cwd: directory })) {
    const bytes = readFileSync(join(directory, file));
    if (bytes.length >= compressedFromBytes) {
      writeFileSync(join(directory, `${file}.gz`), gzipSync(bytes, { level: 9 }));
    }
  }
}

for (const folder of process.argv.slice(2)) await buildPage(folder);
