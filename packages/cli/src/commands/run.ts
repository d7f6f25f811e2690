/** Adds `vouchbox run` to the table of commands. */
import { LANGUAGES } from '@vouchbox/protocol/vocabulary';
import type { Command } from 'commander';
import { EXIT } from '../failures/exit-code.ts';
import type { RunOptions } from '../run.ts';
import { collect, ending, running, sessionName, withAccess, withDemands, withJson } from './options.ts';

export function addDemo(program: Command): void {
  program
    .command('demo')
    .description('run a program for the first time: starts a service, shows everything about a run, and verifies it')
    .option('--once', 'end after that, instead of serving until Ctrl-C')
    .action(running(async () => (await import('../demo.ts')).demo));
}

export function addRun(program: Command): void {
  const command = program
    .command('run')
    .description('run a program isolated; its output and its exit code become this command’s own')
    .argument('<file>', 'the program; - reads it from stdin')
    .argument('[args...]', 'arguments of the program; put -- before them')
    .option('--language <language>', `${LANGUAGES.join(', ')}; default: by the name of the file`)
    .option('--stdin <text>', 'what the program reads on stdin: the text, @FILE, or - for this command’s own stdin')
    .option('--interactor <file>', 'a second program with the same limits; each of the two reads what the other writes')
    .option('--env <NAME=VALUE>', 'a variable of the program; NAME alone takes its value from yours', collect, [])
    .option(
      '--file <input/name=path>',
      'an input file, or job:ID/output/name; without a path it goes to input/ under its own name',
      collect,
      [],
    )
    .option(
      '--output <output/name=path>',
      'an output file to fetch, or output/** for all; without a path it is written to output/name',
      collect,
      [],
    )
    .option(
      '--large-output <output/name=path>',
      'an output file to fetch; all of them together have at most 64 MiB',
      collect,
      [],
    )
    .option('--reproducible', 'fix the hash seeds of Python and Perl, so that a set has the same order in every run')
    .option('--label <text>', 'a word by which `vouchbox jobs --label` finds the job; up to 16', collect, [])
    .option('--sign-labels', 'put the labels into the signed receipt')
    .option('--whole-stdout <path>', 'a file for the whole stdout, as bytes, even if the result has only the beginning')
    .option(
      '--session <name>',
      'begin with the variables and files that the last run in this session left, and keep those of this run',
      sessionName,
    )
    .option(
      '--libraries <file>',
      'packages for Python, JavaScript or TypeScript: an archive of `vouchbox libraries pack`, or its sha256:…',
    )
    .option(
      '--tool <NAME=command>',
      "a command that answers the program's calls of this name: arguments on stdin and the result on stdout, in JSON",
      collect,
      [],
    )
    .option('--promise', 'run only if the service signs a promise that its log answers for the job in time')
    .option('--promise-file <file>', 'like --promise, and write the promise to a new file, for service-verify promise')
    .option('--allow-missing', 'do not fail if a requested output is missing, too large or not a file')
    .option('--raw', "pass the program's output to a terminal unescaped, control characters included")
    .option('--local', 'start a service for this run, even if another is named')
    .option('--verbose', 'report progress on stderr, even if stderr is not a terminal')
    .addHelpText('after', RUN_HELP)
    .action(async (file: string, args: readonly string[], options: RunOptions) => {
      const { run } = await import('../run.ts');
      await ending(run(file, { ...options, args }));
    });
  withJson(withAccess(withDemands(command)));
}

const RUN_HELP = `
Without --url, --profile, their variables or a profile of \`vouchbox login\`, the command starts a
service of its own for as long as the program runs.

Input that is piped to the command becomes the program's stdin; --stdin '' gives it none.

Exit codes:
  0 to 255  the program's own
  ${EXIT.failed}         the program succeeded, but an output did not come back: it is missing, too large or
            no file, or the state of its --session; --allow-missing allows that. Or its interactor
            did not succeed
  ${EXIT.usage}         wrong usage of this command
  ${EXIT.timedOut}       a time limit ended the program
  ${EXIT.notRun}       the program did not run, or its end is unknown
  ${EXIT.cancelled}       the job was cancelled
  ${EXIT.outOfMemory}       the memory limit ended the program
  128 + N   signal N ended the program
A program may exit with any of these itself. Whenever it did not, a line on stderr says what happened.`;
