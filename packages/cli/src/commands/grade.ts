/** Adds `vouchbox grade` to the table of commands. */
import { COMPARISONS } from '@vouchbox/protocol/grading';
import { type Command, Option } from 'commander';
import { running, withAccess, withDemands } from './options.ts';

const HELP = `
The tests are a folder or a problem package in the format of Kattis, as a directory, .kpp or .zip. A folder has NAME.in,
what the program reads, and NAME.out, what it should print; NAME.args has an argument a line. Without NAME.out only the
end of the program counts. A package says itself how outputs are judged, and what limits hold. Each test is an isolated
job of its own, and sees no other test and no expected output. A program in a compiled language is compiled once, under
limits of its own. A checker gets input/stdin, input/expected and input/output, and ends with 0 to accept, with 1 to
refuse, or with 7 and "points N" on stderr to give N points. An interactor ends as a checker does.

Exit codes: 0 all tests accepted, 1 some not or files missing, 2 wrong usage, 125 no verdict, 130 interrupted.`;

export function addGrade(program: Command): void {
  const command = program
    .command('grade')
    .description('grade a program by tests that it does not see; the service signs the verdict like a result')
    .argument('<file>', 'the program')
    .requiredOption('--tests <path>', 'a folder of tests, or a problem package')
    .option('--checker <file>', 'a program that judges each output, instead of a comparison')
    .option('--interactor <file>', 'a program that talks with the program in each test, and judges the test')
    .addOption(new Option('--compare <how>', 'how outputs are compared').choices([...COMPARISONS]).default('lines'))
    .option('--check-inputs', 'run the input validators of the package on every test first')
    .option('--report <file>', 'write a page about the grading to this file, in HTML')
    .option('--output <directory>', 'write the verdict with the evidence of every job to this directory')
    .option('--force', 'replace the files of an earlier grading there')
    .option('--language <language>', 'the language of the program; default: by the name of its file')
    .option('--json', 'print the verdict as JSON')
    .addHelpText('after', HELP)
    .action(running(async () => (await import('../grade.ts')).grade));
  withAccess(withDemands(command));
}
