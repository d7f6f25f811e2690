/** The command `vouchbox`, as a person or a script uses it. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { FoldedResult, JobDetail, JobListItem, Language } from '@vouchbox/protocol';
import { vouchbox } from '../../rig/command.ts';
import { type Caller, playCaller } from '../caller.ts';
import type { Crossing } from '../crossing.ts';
import { type Seen, textOf, typesOf } from '../facts.ts';
import { NO_STATUS, type Place, withoutOpening } from '../place.ts';
import type { Program } from '../scenarios.ts';
import { gradingOf, verdictsIn } from './grade-by-client.ts';
import { gradePackage } from './grade-package.ts';

/** The file extensions from which the command infers the language. */
const ENDINGS: Readonly<Partial<Record<Language, string>>> = {
  python: 'py',
  bash: 'sh',
  node: 'mjs',
  typescript: 'ts',
  cpp: 'cpp',
};

/** Runs the command in the cell's directory, with the key of the cell's tenant. */
async function told({ service, key, directory }: Crossing, words: readonly string[], stdin = '') {
  const env = { SERVICE_URL: service.url, SERVICE_KEY: key };
  const { code, stdout, stderr } = await vouchbox(words, { env, cwd: directory, stdin });
  return { code, stdout, stderr };
}

/** Runs the command, and returns the JSON that it printed. */
async function printed<Answer>(crossing: Crossing, words: readonly string[], stdin?: string): Promise<Answer> {
  const { code, stdout, stderr } = await told(crossing, words, stdin);
  if (stdout === '') throw new Error(`vouchbox ${words[0]} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as Answer;
}

/** Writes the program into the cell's directory, and returns the file's name. */
function programFile({ directory, scenario: { program } }: Crossing): string {
  const name = `program.${ENDINGS[program.language]}`;
  writeFileSync(join(directory, name), program.code);
  return name;
}

/** Writes the archive of the program's libraries into the cell's directory, and returns the option that names the archive. */
function librariesWords({ directory, scenario: { program } }: Crossing): string[] {
  if (program.packed === undefined) return [];
  writeFileSync(join(directory, 'libraries.tar.gz'), program.packed);
  return ['--libraries', 'libraries.tar.gz'];
}

async function wordsOf(crossing: Crossing, program: Program) {
  const { directory } = crossing;
  const {
    uploads = {},
    env = {},
    limits = {},
    outputs,
    large_outputs: large = {},
    runtime,
    args,
    reproducible,
  } = program;
  const named = Object.entries(await crossing.outputsOfJobs());
  const step = await crossing.step();
  const files = Object.entries(uploads).flatMap(([path, content], index) => {
    writeFileSync(join(directory, `upload-${index}`), content);
    return ['--file', `${path}=upload-${index}`];
  });
  return [
    ...files,
    ...named.flatMap(([path, { from }]) => ['--file', `${path}=job:${from.job_id}/${from.path}`]),
    ...Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    ...Object.entries(limits).flatMap(([name, value]) => ['--limit', `${name}=${value}`]),
    ...(outputs ?? []).flatMap((path) => ['--output', `${path}=back`]),
    ...(large.paths ?? []).flatMap((path) => ['--large-output', `${path}=back/${basename(path)}`]),
    ...(large.stdout ? ['--whole-stdout', `back/${basename(large.stdout)}`] : []),
    ...(program.interactor ? ['--interactor', interactorFile(directory, program.interactor.code)] : []),
    ...(runtime ? ['--runtime', runtime] : []),
    ...librariesWords(crossing),
    ...(reproducible ? ['--reproducible'] : []),
    ...(program.promise ? ['--promise'] : []),
    ...(step ? ['--session', step.name] : []),
    ...(program.labels ?? []).flatMap((label) => ['--label', label]),
    ...(program.sign_labels ? ['--sign-labels'] : []),
    ...(program.tools ? ['--tool', `search=${toolFile(directory)}`] : []),
    ...(args ? ['--', ...args] : []),
  ];
}

/** Writes the command that answers the program's tool calls. */
function toolFile(directory: string): string {
  const code = 'import json\nprint(json.dumps({"pages": ["a page about " + json.loads(input())["query"]]}))';
  writeFileSync(join(directory, 'tool.py'), code);
  return '/usr/bin/python3 tool.py';
}

function interactorFile(directory: string, code: string): string {
  writeFileSync(join(directory, 'interactor.py'), code);
  return 'interactor.py';
}

/** The files that the command wrote below `back/`, keyed by their paths in the cell. */
function filesBack(directory: string): Record<string, string> {
  const back = join(directory, 'back');
  mkdirSync(back, { recursive: true });
  const names = readdirSync(back, { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => statSync(join(back, name)).isFile());
  return Object.fromEntries(files.map((name) => [`output/${name}`, textOf(readFileSync(join(back, name)))]));
}

const caller: Caller = {
  run: async (crossing) => {
    const { program } = crossing.scenario;
    const words = ['run', programFile(crossing), '--json', ...(await wordsOf(crossing, program))];
    type Printed = Omit<FoldedResult, 'artifacts'> & Pick<JobDetail, 'terminal_reason' | 'signal'>;
    const { violations, ...seen } = await printed<Printed>(crossing, words, program.stdin);
    return { ...(seen as Seen), violations: typesOf(violations), files: filesBack(crossing.directory) };
  },
  read: async (crossing, job_id) => {
    const detail = await printed<JobDetail>(crossing, ['jobs', 'show', job_id, '--json']);
    const { status, terminal_reason, exit_code, signal } = detail;
    const stdout = crossing.scenario.act === 'key_rotated' ? await exportedOutput(crossing, job_id) : null;
    return { status, terminal_reason, exit_code, signal, ...(stdout !== null && { stdout }) } as Seen;
  },
  cancel: async (crossing, job_id) => {
    const { code, stderr } = await told(crossing, ['jobs', 'cancel', job_id]);
    if (code !== 0) throw new Error(`it was not cancelled: ${stderr}`);
  },
  readings: {
    listed: async (crossing, job_id) => {
      const jobs = await printed<JobListItem[]>(crossing, ['jobs', '--json']);
      return jobs.find((job) => job.job_id === job_id)?.first_line ?? '';
    },
  },
  links: {
    make: async (crossing, job_id) => {
      const { code, stdout, stderr } = await told(crossing, ['link', job_id]);
      if (code !== 0) throw new Error(`there is no link: ${stderr}`);
      return stdout.trim();
    },
    revoke: async (crossing, job_id, address) => {
      const { code, stderr } = await told(crossing, ['links', 'revoke', job_id, address]);
      if (code !== 0) throw new Error(`the link was not revoked: ${stderr}`);
    },
  },
  grade: async (crossing) => {
    const { tests = [], problem, interactor } = crossing.scenario;
    const grading = async () => ({ grading: await gradingOf(crossing) });
    if (problem !== undefined) return { ...verdictsIn(await gradePackage(crossing)), ...(await grading()) };
    mkdirSync(join(crossing.directory, 'tests'));
    for (const { name, stdin, expected } of tests) {
      writeFileSync(join(crossing.directory, 'tests', `${name}.in`), stdin);
      writeFileSync(join(crossing.directory, 'tests', `${name}.out`), expected);
    }
    const talks = interactor ? ['--interactor', interactorFile(crossing.directory, interactor.code)] : [];
    const verdict = await printed(crossing, ['grade', programFile(crossing), '--tests', 'tests', '--json', ...talks]);
    return { ...verdictsIn(JSON.stringify(verdict)), ...(await grading()) };
  },
};

/** The program's output, read from an export of its job. The export is checked with the older key that signed the job. */
async function exportedOutput(crossing: Crossing, job_id: string): Promise<string> {
  const without = await told(crossing, ['export', job_id, '--output', 'exported']);
  if (without.code === 0 || !without.stderr.includes('--public-key')) {
    throw new Error(`an export with a key that did not sign ended with ${without.code}: ${without.stderr}`);
  }
  writeFileSync(join(crossing.directory, 'first.pem'), crossing.signer);
  const { code, stderr } = await told(crossing, [
    'export',
    job_id,
    '--output',
    'exported',
    '--public-key',
    'first.pem',
  ]);
  if (code !== 0) throw new Error(`the export ended with ${code}: ${stderr}`);
  const result = readFileSync(join(crossing.directory, 'exported', 'result.json'), 'utf8');
  return (JSON.parse(result) as { readonly stdout: string }).stdout;
}

export const command: Place = {
  title: 'command',
  group: 'callers',
  service: 'usual',
  shows: ['status', 'terminal_reason', 'exit_code', 'signal'],
  except: {
    named_stdin: '`vouchbox run` gives a program what is piped to it, which is at most 1 MiB of text.',
    built: '`vouchbox run` compiles and runs a program in one job, and names no other.',
    repeated: 'Each call of `vouchbox run` is a job of its own: the command makes a new key for each and takes none.',
  },
  unseen: { counted: NO_STATUS },
  open: withoutOpening({ play: async (crossing) => await playCaller(caller, crossing) }),
};
