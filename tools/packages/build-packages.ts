/**
 * Builds the packages that are published. Each is a directory for `npm pack`, with JavaScript, declarations and source maps made
 * from the sources. The sources stay unchanged and run without this build. docs/decisions/0034.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pagePackages } from '../pages/page-packages.mjs';
import { buildNativePrograms } from './build-natives.ts';
import { bundleClient, copyDeclarations } from './client-bundle.ts';
import { publishedManifest, type SourceManifest } from './manifest.ts';

const root = join(import.meta.dirname, '../..');

/** A package that was built. */
export interface BuiltPackage {
  readonly name: string;
  readonly version: string;
  readonly directory: string;
}

export interface BuildOptions {
  /** Whether the server gets the programs that start cells. Trials without cells set this to `false`. */
  readonly natives?: boolean;
}

/** Folders at the root of the repository that a package gets in addition to its own files. */
const FROM_ROOT: Readonly<Record<string, readonly string[]>> = { cli: ['packs', 'deploy'] };

/**
 * Empties this directory, and builds every package into its own directory below it. Pages are not published as packages: the
 * set-up has built them into the server.
 */
export async function buildPackages(directory: string, options: BuildOptions = {}): Promise<readonly BuiltPackage[]> {
  rmSync(directory, { recursive: true, force: true });
  const compiled = mkdtempSync(join(tmpdir(), 'vouchbox-build-'));
  try {
    const project = join(import.meta.dirname, 'tsconfig.json');
    const tsc = join(root, 'node_modules/.bin/tsc');
    execFileSync(tsc, ['-p', project, '--outDir', compiled], { stdio: ['ignore', 'inherit', 'inherit'] });
    const built: BuiltPackage[] = [];
    const pages = pagePackages();
    for (const folder of readdirSync(join(root, 'packages')).filter((name) => !pages.includes(name))) {
      if (folder === 'server' && options.natives !== false) buildNativePrograms(join(directory, folder, 'native'));
      built.push(await buildPackage(folder, join(compiled, folder, 'src'), join(directory, folder)));
    }
    return built;
  } finally {
    rmSync(compiled, { recursive: true, force: true });
  }
}

async function buildPackage(folder: string, compiled: string, directory: string): Promise<BuiltPackage> {
  const source = join(root, 'packages', folder);
  const manifest = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as SourceManifest;
  const isBundled = folder === 'client';
  mkdirSync(join(directory, 'dist'), { recursive: true });
  if (isBundled) {
    await bundleClient(join(source, 'src/index.ts'), join(directory, 'dist'));
    copyDeclarations(compiled, join(directory, 'dist'));
  } else {
    copyPlainFiles(join(source, 'src'), join(directory, 'dist'));
    cpSync(compiled, join(directory, 'dist'), { recursive: true });
  }
  for (const name of ['bin', 'setup', 'pages', 'openapi.json', 'README.md']) copyIfThere(source, directory, name);
  for (const name of ['LICENSE', ...(FROM_ROOT[folder] ?? [])]) copyIfThere(root, directory, name);
  for (const file of globSync(['dist/**/*.{js,d.ts}', 'bin/*.mjs'], { cwd: directory }))
    publishText(join(directory, file));
  for (const file of globSync('dist/**/*.map', { cwd: directory })) nameSources(join(directory, file));
  const files = readdirSync(directory).filter((name) => !ALWAYS_PACKED.includes(name));
  const published = publishedManifest(manifest, { files, isBundled, optionalDependencies: broughtNode(folder) });
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
  return { name: manifest.name, version: manifest.version, directory };
}

/** Files that npm always packs, whatever `files` in the manifest says. */
const ALWAYS_PACKED = ['package.json', 'README.md', 'LICENSE'];

/** Copies programs in other languages, and programs that run only in a cell. */
function copyPlainFiles(source: string, target: string): void {
  const isPlain = (file: string) => /\.\w+$/.test(file) && (!file.endsWith('.ts') || /\.[cm]ts$/.test(file));
  for (const file of globSync('**/*', { cwd: source, exclude: ['**/fixtures/**'] }).filter(isPlain)) {
    mkdirSync(dirname(join(target, file)), { recursive: true });
    cpSync(join(source, file), join(target, file));
  }
}

function copyIfThere(from: string, to: string, name: string): void {
  for (const file of globSync([name, `${name}/**`], { cwd: from })) {
    cpSync(join(from, file), join(to, file), { recursive: true });
  }
}

/** The Node that the command brings. It is the one that is pinned for the repository, so the command was tested with it. */
function broughtNode(folder: string): Readonly<Record<string, string>> {
  if (folder !== 'cli') return {};
  const text = readFileSync(join(root, 'package.json'), 'utf8');
  return (JSON.parse(text) as { optionalDependencies: Record<string, string> }).optionalDependencies;
}

/**
 * Replaces names of sources with names of compiled files where the compiler does not see them: in declarations, in the paths of
 * threads, and in the commands. Names keep their length, so that source maps stay correct.
 */
function publishText(file: string): void {
  const text = readFileSync(file, 'utf8');
  const published = text
    .replaceAll(/((?:from|import) ?\(?["']\.{1,2}\/[^"'\n]+)\.ts(["'])/g, '$1.js$2')
    .replaceAll(/(new URL\(["']\.{1,2}\/[^"'\n]+)\.ts(["'], import\.meta\.url\))/g, '$1.js$2')
    .replaceAll(/(import\(["'])\.\.\/src\/([^"'\n]+)\.js(["']\))/g, '$1../dist/$2.js$3');
  if (published !== text) writeFileSync(file, published);
}

/** Makes a source map name its sources by their paths in the repository, not by the paths where they were built. */
function nameSources(file: string): void {
  const map = JSON.parse(readFileSync(file, 'utf8')) as { sources: readonly string[] };
  const sources = map.sources.map((source) => source.replace(/^.*\/(?=\w+\/src\/)/, 'vouchbox:///packages/'));
  writeFileSync(file, JSON.stringify({ ...map, sources }));
}
