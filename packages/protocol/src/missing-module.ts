/** The message about a library that a program lacks: it names the packs of the service that have the library. */

const MISSING: readonly { readonly language: string; readonly says: RegExp }[] = [
  { language: 'python', says: /ModuleNotFoundError: No module named '([\w.]{1,100})'/ },
  { language: 'node', says: /Cannot find (?:module|package) '((?:@[\w.-]{1,100}\/)?[\w.-]{1,100})[/\w.-]*'/ },
];

/** A library that a program lacked, and the language that the library is for. */
export interface MissingModule {
  readonly language: string;
  /** The name that is imported, without parts inside the library. It has at most 200 letters, digits and `@ / . _ -`. */
  readonly module: string;
}

/** The first library that an error names; null if it names none. A file of the program itself does not count. */
export function missingModule(stderr: string): MissingModule | null {
  for (const { language, says } of MISSING) {
    const [, name] = says.exec(stderr) ?? [];
    if (name === undefined || name.startsWith('.')) continue;
    return { language, module: language === 'python' ? (name.split('.')[0] ?? name) : name };
  }
  return null;
}

/** What the service says about a pack. A pack that was built before libraries were listed has no `libraries`. */
interface ListedPack {
  readonly name: string;
  readonly libraries?: readonly { readonly language: string; readonly modules: readonly string[] }[];
}

/** The names of the packs that have a library. */
export function packsWith({ language, module }: MissingModule, packs: readonly ListedPack[]): readonly string[] {
  const having = packs.filter(({ libraries = [] }) =>
    libraries.some((library) => library.language === language && library.modules.includes(module)),
  );
  return having.map(({ name }) => name);
}

/**
 * Names the packs that have a library, in one line.
 * @param option how a caller of this interface names a pack, such as `--runtime`
 */
export function missingModuleRemark(missing: MissingModule, packs: readonly ListedPack[], option: string): string {
  const { module } = missing;
  const having = packsWith(missing, packs);
  if (having.length > 0) return `${module} is in a pack: ${having.map((name) => `${option} ${name}`).join(', or ')}`;
  const unknown = packs.filter(({ name, libraries }) => libraries === undefined && name !== 'system');
  const unlisted = unknown.map(({ name }) => name).join(', ');
  const rest = unlisted === '' ? '' : `; the libraries of ${unlisted} are not listed: build it again to list them`;
  return `no listed pack of this service has ${module}${rest}; \`vouchbox libraries pack\` lets a job bring it, \`vouchbox packs build\` makes a pack`;
}
