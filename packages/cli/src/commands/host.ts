/** Adds the commands that prepare a host and its packs to the table of commands. */
import type { Command } from 'commander';
import { EXIT } from '../failures/exit-code.ts';
import { running, withDataDirectory, withJson } from './options.ts';

/** `vouchbox setup`: installs what this host needs for isolating programs, as far as this user may, and names what is missing. */
export function addSetUp(program: Command): void {
  const command = program
    .command('setup')
    .description('install and compile what this host lacks for isolating programs; as root on Debian and Ubuntu')
    .option('--apparmor', 'as root: let ordinary users make cells although AppArmor refuses them user namespaces')
    .action(running(async () => (await import('../operator/setup.ts')).setUp));
  withJson(command);
}

export function addVm(program: Command): void {
  program
    .command('vm')
    .description('print a Linux machine for Lima, in which a Mac has cells')
    .option('--start', 'start the machine with limactl instead of printing it; the first start makes it')
    .option('--checkout <directory>', 'the checkout to copy into the machine (default: the one of this command)')
    .action(running(async () => (await import('../operator/vm.ts')).vmCommand));
}

export function addDoctor(program: Command): void {
  const command = program
    .command('doctor')
    .description('try every control of this host, and say how to fix those that fail')
    .option('--json', 'all findings, as JSON')
    .option('--runtime-packs-dir <directory>', 'where packs are (or SERVICE_RUNTIME_PACKS_DIR)')
    .addHelpText('after', `\nExit codes: ${EXIT.ok} programs can be isolated here, ${EXIT.failed} they cannot.`)
    .action(running(async () => (await import('../doctor.ts')).doctorCommand));
  withDataDirectory(command);
}

/** `vouchbox packs` and its subcommands. */
export function addPacks(program: Command): void {
  const packs = program.command('packs').description('build, list, verify and remove runtime packs');
  const build = packs
    .command('build')
    .description('build a runtime pack from its recipe, with mmdebstrap, as root')
    .argument('<recipe>', 'the name of a recipe that comes with Vouchbox, or the path of another')
    .action(running(async () => (await import('../operator/packs.ts')).buildPackOf));
  const list = packs
    .command('list')
    .description('list every built pack')
    .action(running(async () => (await import('../operator/packs.ts')).listPacksOf));
  const verify = packs
    .command('verify')
    .description('compare every file of a pack with its manifest')
    .argument('<name>')
    .argument('[version]', 'the version of the pack (default: the newest)')
    .action(running(async () => (await import('../operator/packs.ts')).verifyPackOf));
  const remove = packs
    .command('remove')
    .description('remove a pack; a service that offers it must be stopped first')
    .argument('<name>')
    .argument('[version]', 'the version (default: the newest)')
    .action(running(async () => (await import('../operator/packs.ts')).removePackOf));
  for (const command of [build, list, verify, remove]) {
    command.option('--runtime-packs-dir <directory>', 'where packs are (or SERVICE_RUNTIME_PACKS_DIR)');
    withJson(withDataDirectory(command));
  }
}
