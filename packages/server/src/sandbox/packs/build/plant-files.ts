/** Puts a recipe's own files into the tree that was built from packages. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PackError } from '../pack-error.ts';
import type { Recipe } from './recipe.ts';

/** @throws PackError if a package has a file in the same place */
export function plantFiles({ files = {} }: Pick<Recipe, 'files'>, tree: string): void {
  for (const [path, lines] of Object.entries(files)) {
    const target = join(tree, path);
    mkdirSync(dirname(target), { recursive: true, mode: 0o755 });
    try {
      writeFileSync(target, `${lines.join('\n')}\n`, { flag: 'wx', mode: 0o644 });
    } catch (cause) {
      throw new PackError(`/files: ${path} cannot be made: ${(cause as Error).message}`, { cause });
    }
  }
}
