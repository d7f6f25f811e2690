/** Makes a published package's package.json from the one in the sources. */

/** The members of a package.json in the sources. */
export interface SourceManifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly license: string;
  readonly engines: Readonly<Record<string, string>>;
  readonly sideEffects?: boolean;
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string>>;
  readonly imports?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

export interface PublishedParts {
  /** The names of the package's files and directories. */
  readonly files: readonly string[];
  /** Whether the package's files include other packages of this project. */
  readonly isBundled: boolean;
  /** The packages that bring a Node, with their versions. */
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

/** The sources name TypeScript below `src`. Here the published JavaScript and declarations below `dist` take its place. */
export function publishedManifest(source: SourceManifest, parts: PublishedParts): Record<string, unknown> {
  const { name, version, description, keywords, license, engines, sideEffects, bin, dependencies = {} } = source;
  const { peerDependencies, peerDependenciesMeta } = source;
  const optionalDependencies = { ...source.optionalDependencies, ...parts.optionalDependencies };
  return {
    name,
    version,
    description,
    keywords,
    license,
    type: 'module',
    engines,
    ...(bin && { bin }),
    exports: Object.fromEntries(Object.entries(source.exports).map(([path, file]) => [path, exportOf(file)])),
    ...(source.imports && { imports: importsOf(source.imports) }),
    files: parts.files,
    ...(sideEffects !== undefined && { sideEffects }),
    ...(!parts.isBundled && Object.keys(dependencies).length > 0 && { dependencies }),
    ...(peerDependencies && { peerDependencies, peerDependenciesMeta }),
    ...(Object.keys(optionalDependencies).length > 0 && { optionalDependencies }),
    publishConfig: { access: 'public' },
  };
}

/** The published file that is made from a source file. */
export function publishedFile(file: string): string {
  return file.replace(/^\.\/src\/(.*)\.ts$/, './dist/$1.js');
}

function exportOf(file: string): unknown {
  const published = publishedFile(file);
  if (published === file) return file;
  return { types: published.replace(/\.js$/, '.d.ts'), default: published };
}

function importsOf(imports: NonNullable<SourceManifest['imports']>): unknown {
  const ofConditions = (files: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(files).map(([condition, file]) => [condition, publishedFile(file)]));
  return Object.fromEntries(Object.entries(imports).map(([name, files]) => [name, ofConditions(files)]));
}
