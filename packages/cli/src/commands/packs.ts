/** `vouchbox packs` in the table of commands. */
import type { Command } from 'commander';
import type { PacksOptions } from '../operator/packs.ts';
import { ending, withDataDirectory, withJson } from './options.ts';

/** `vouchbox packs` and its verbs. */
export function addPacks(program: Command): void {
  const packs = program.command('packs').description('build, list, verify and remove runtime packs');
  const build = packs
    .command('build')
    .description('build a runtime pack from its recipe, with mmdebstrap, as root')
    .argument('<recipe>', 'the name of a recipe that comes with Vouchbox, or the path of another')
    .action(async (recipe: string, options: PacksOptions) =>
      ending((await import('../operator/packs.ts')).buildPackOf(recipe, options)),
    );
  const list = packs
    .command('list')
    .description('every pack that is built')
    .action(async (options: PacksOptions) => ending((await import('../operator/packs.ts')).listPacksOf(options)));
  const verify = packs
    .command('verify')
    .description('compare every file of a pack with its manifest')
    .argument('<name>')
    .argument('[version]', 'the version (default: the newest)')
    .action(async (name: string, version: string | undefined, options: PacksOptions) =>
      ending((await import('../operator/packs.ts')).verifyPackOf(name, version, options)),
    );
  const remove = packs
    .command('remove')
    .description('remove a pack; a service that offers it must be stopped first')
    .argument('<name>')
    .argument('[version]', 'the version (default: the newest)')
    .action(async (name: string, version: string | undefined, options: PacksOptions) =>
      ending((await import('../operator/packs.ts')).removePackOf(name, version, options)),
    );
  for (const command of [build, list, verify, remove]) {
    command.option('--runtime-packs-dir <directory>', 'where packs are (or SERVICE_RUNTIME_PACKS_DIR)');
    withJson(withDataDirectory(command));
  }
}
