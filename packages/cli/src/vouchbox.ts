/** The `vouchbox` command: the table of all commands, and how failures are reported. Each command has its own file. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { addBackup, addCopyStore, addRestore } from './commands/backup.ts';
import { addCompletion } from './commands/completion.ts';
import { addGrade } from './commands/grade.ts';
import { addDoctor, addPacks, addSetUp, addVm } from './commands/host.ts';
import { addAdapter, addMcp } from './commands/interfaces.ts';
import {
  addExport,
  addJobs,
  addLibraries,
  addLinks,
  addReproduce,
  addSessions,
  addVerifyPage,
} from './commands/jobs.ts';
import { addAttestationKeys, addKeys } from './commands/keys.ts';
import { addLog, addMonitor, addWitness } from './commands/log.ts';
import { addLogin, addLogout, addProfiles } from './commands/login.ts';
import { addDemo, addRun } from './commands/run.ts';
import { addServe } from './commands/serve.ts';
import { EXIT } from './failures/exit-code.ts';
import { tellFailure } from './failures/tell-failure.ts';
import { endOnBrokenPipe } from './terminal/interrupts.ts';

/** Runs one command line, such as `process.argv`, and sets the process's exit code. */
export async function main(argv: readonly string[]): Promise<void> {
  endOnBrokenPipe();
  try {
    await (await vouchboxCommand(argv[2])).parseAsync([...argv]);
  } catch (error) {
    process.exitCode = tellFailure(error, RUNS_PROGRAMS.includes(argv[2]) ? EXIT.notRun : EXIT.failed);
  }
}

/** The commands whose exit code 1 says that the program failed, not that the command failed. */
const RUNS_PROGRAMS: readonly (string | undefined)[] = ['run', 'grade'];

/** The commands that show or need the options of `serve`. */
const NEED_SETTINGS: readonly (string | undefined)[] = ['serve', 'help', 'completion'];

async function vouchboxCommand(asked: string | undefined): Promise<Command> {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const program = new Command('vouchbox')
    .description('Run code you do not trust on a box you own, and hand anyone a result they can check.')
    .version(version)
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'vouchbox: ')) });
  await addServe(program, NEED_SETTINGS.includes(asked) ? 'with_settings' : 'without_settings');
  addSetUp(program);
  addDemo(program);
  addRun(program);
  addJobs(program);
  addSessions(program);
  addLibraries(program);
  addLinks(program);
  addExport(program);
  addReproduce(program);
  addVerifyPage(program);
  addGrade(program);
  addMcp(program, version);
  addAdapter(program);
  addLogin(program);
  addLogout(program);
  addProfiles(program);
  addPacks(program);
  addDoctor(program);
  addVm(program);
  addKeys(program);
  addAttestationKeys(program);
  addWitness(program);
  addLog(program);
  addMonitor(program);
  addBackup(program);
  addRestore(program);
  addCopyStore(program);
  addCompletion(program);
  hintAtHelp(program, 'vouchbox');
  return program;
}

/** Adds a line to errors about wrong usage and to lists of commands. The line says which `--help` to read next. */
function hintAtHelp(command: Command, path: string): void {
  const what = command.commands.length > 0 ? 'commands' : 'options';
  command.showHelpAfterError(`(${path} --help lists its ${what})`);
  if (command.commands.length > 0)
    command.addHelpText('after', `\n${path} COMMAND --help lists the options of a command.`);
  for (const child of command.commands) hintAtHelp(child, `${path} ${child.name()}`);
}
