/**
 * The recipe of a runtime pack: a small JSON document that says which Debian packages make it up. An operator writes it. It is
 * still read strictly, because silently dropping a member would give a pack that the operator did not ask for.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { canonicalJson, sha256Hex } from '@vouchbox/evidence';
import { LANGUAGES, type Static, Type } from '@vouchbox/protocol';
import { Compile } from 'typebox/compile';
import { PACK_NAME, PACK_VERSION, SYSTEM_PACK } from '../../cell/pack.ts';
import { ENVIRONMENT } from '../../program/language-runs.ts';
import { PackError } from '../pack-error.ts';
import { checkLockfile, checkRequirements, NODE_MODULES, parsedJson } from './locked-packages.ts';

const RECIPE_BYTES_MAX = 64 * 1024;
const LIST_MAX = 256;

const text = (pattern: RegExp, charsMax = 256) => Type.String({ pattern: pattern.source, maxLength: charsMax });
const list = (pattern: RegExp) => Type.Array(text(pattern), { maxItems: LIST_MAX, uniqueItems: true });

export const RecipeSchema = Type.Object(
  {
    name: text(PACK_NAME),
    version: text(PACK_VERSION),
    description: Type.Optional(Type.String({ maxLength: 1024 })),
    languages: Type.Array(Type.Enum([...LANGUAGES]), { minItems: 1, uniqueItems: true }),
    /** A Debian or Ubuntu release by its code name. */
    suite: text(/^[a-z][a-z0-9-]*$/),
    /** Parts of the archive. Default: only `main`. */
    components: Type.Optional(Type.Array(text(/^[a-z][a-z0-9-]*$/), { minItems: 1, maxItems: 16, uniqueItems: true })),
    /** Packages of the archive, each a name or `name=version`. Their dependencies come with them. */
    packages: list(/^[a-z0-9][a-z0-9+.-]*[a-z0-9+](=[0-9A-Za-z.+:~-]+)?$/),
    /** Entries of `/etc` that the pack keeps in addition to the usual ones. */
    etc: Type.Optional(list(/^[A-Za-z0-9][A-Za-z0-9._-]*$/)),
    /** Files and directories below `/usr` that are taken out of the finished tree. */
    exclude: Type.Optional(list(/^\/usr(\/(?!\.{1,2}(\/|$))[^/\0]+)+$/)),
    /** Small text files below `/usr` that no package has, each as its lines. */
    files: Type.Optional(
      Type.Record(
        text(/^\/usr(\/(?!\.{1,2}(\/|$))[A-Za-z0-9._+-]+)+$/),
        Type.Array(Type.String({ maxLength: 1024 }), { minItems: 1, maxItems: 512 }),
        { maxProperties: 32, additionalProperties: false },
      ),
    ),
    /** A `requirements.txt` beside the recipe: Python's wheels, each with its hash. */
    python_requirements: Type.Optional(text(/^[A-Za-z0-9][A-Za-z0-9._-]*$/)),
    /** A `package-lock.json` beside the recipe: npm's packages, which programs load with `require`. */
    npm_lockfile: Type.Optional(text(/^[A-Za-z0-9][A-Za-z0-9._-]*$/)),
    /** Variables that every program in this pack gets in addition to the fixed ones. */
    environment: Type.Optional(
      Type.Record(text(/^[A-Z][A-Z0-9_]*$/), text(/^[\x21-\x7e]*$/), {
        maxProperties: 32,
        additionalProperties: false,
      }),
    ),
  },
  { additionalProperties: false },
);
export type Recipe = Static<typeof RecipeSchema> & {
  /** The text of the files that the recipe names. It belongs to the recipe, so the recipe's digest covers it. */
  readonly locked?: { readonly requirements?: string; readonly npm_lockfile?: string };
};

const schema = Compile(RecipeSchema);

/** Names in `/etc` that describe the machine. A cell has files of its own at some of these names, and nothing at the others. */
const NEVER_FROM_ETC = new Set(
  'environment group gshadow host.conf hostname hosts machine-id mtab nsswitch.conf passwd resolv.conf shadow'.split(
    ' ',
  ),
);

/** Reads a recipe file. @throws PackError naming the file and the member that is wrong */
export function readRecipe(file: string): Recipe {
  const bytes = readWhole(file);
  try {
    return withLocked(parseRecipe(bytes.toString()), dirname(file));
  } catch (error) {
    if (error instanceof PackError) throw new PackError(`${file}: ${error.message}`, { cause: error });
    throw error;
  }
}

/** The recipe with the files that it names, read from the recipe's directory and checked. */
function withLocked(recipe: Recipe, directory: string): Recipe {
  const { python_requirements, npm_lockfile } = recipe;
  if (python_requirements === undefined && npm_lockfile === undefined) return recipe;
  const locked = {
    ...(python_requirements !== undefined && {
      requirements: lockedText('/python_requirements', join(directory, python_requirements), checkRequirements),
    }),
    ...(npm_lockfile !== undefined && {
      npm_lockfile: lockedText('/npm_lockfile', join(directory, npm_lockfile), checkLockfile),
    }),
  };
  if (npm_lockfile === undefined) return { ...recipe, locked };
  return { ...recipe, locked, environment: { NODE_PATH: `/${NODE_MODULES}`, ...recipe.environment } };
}

function lockedText(member: string, file: string, check: (text: string) => unknown): string {
  try {
    const found = readFileSync(file, 'utf8');
    check(found);
    return found;
  } catch (cause) {
    throw new PackError(`${member}: ${(cause as Error).message}`, { cause });
  }
}

/** @throws PackError naming the member that is wrong */
export function parseRecipe(json: string): Recipe {
  const value = parsedJson(json);
  if (!schema.Check(value)) {
    const [first] = schema.Errors(value);
    const problem = first?.keyword === 'boolean' ? 'is not known' : first?.message;
    throw new PackError(`${first?.instancePath || 'the recipe'} ${problem ?? 'is not as a recipe must be'}`);
  }
  if (value.name === SYSTEM_PACK) throw new PackError(`/name ${SYSTEM_PACK} names the pack of the host itself`);
  const taken = Object.keys(value.environment ?? {}).find(isFixedVariable);
  if (taken !== undefined) throw new PackError(`/environment/${taken} is a variable that a pack may not set`);
  const machine = (value.etc ?? []).find((name) => NEVER_FROM_ETC.has(name));
  if (machine !== undefined) throw new PackError(`/etc: ${machine} is a file that a pack may not bring`);
  return value;
}

/** Two recipes with the same digest ask for the same pack. */
export function recipeSha256(recipe: Recipe): string {
  return sha256Hex(canonicalJson(recipe));
}

/** Whether a pack may not set this variable. The loader's variables would decide which code runs before the program. */
function isFixedVariable(name: string): boolean {
  return name.startsWith('LD_') || ENVIRONMENT.some((entry) => entry.startsWith(`${name}=`));
}

function readWhole(file: string): Buffer {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (cause) {
    throw new PackError(`the recipe ${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
  if (bytes.byteLength > RECIPE_BYTES_MAX) throw new PackError(`${file} is larger than ${RECIPE_BYTES_MAX} bytes`);
  return bytes;
}
