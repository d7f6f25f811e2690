/**
 * A grading with one test that runs the scenario's program. The facts are those about this run, and the verdict must agree
 * with them.
 */
import type { NamedContent, RunResult, Verdict } from '@vouchbox/client';
import type { TerminalStatus } from '@vouchbox/protocol';
import { type Caller, playCaller } from '../caller.ts';
import type { Crossing } from '../crossing.ts';
import { OF_EVERY_JOB, type Seen, typesOf } from '../facts.ts';
import { type Place, withoutOpening } from '../place.ts';
import { verdictsIn } from './grade-by-client.ts';
import { gradePackage } from './grade-package.ts';
import { readByClient } from './typescript-client.ts';

/** The verdict on a test, in the words of docs/GRADING.md. The key is the status with which the test's program ended. */
const VERDICTS: Readonly<Record<TerminalStatus, string>> = {
  succeeded: 'accepted',
  failed: 'runtime_error',
  timed_out: 'time_limit',
  oom_killed: 'memory_limit',
  cancelled: 'not_run',
  error: 'not_run',
};

/** `run` is null if the program did not compile, because then no test ran. */
async function graded(crossing: Crossing): Promise<{ readonly run: RunResult | null; readonly verdict: Verdict }> {
  const { client, scenario } = crossing;
  const { uploads = {}, fromJobs: _, stdin, args, ...program } = scenario.program;
  const files: Record<string, NamedContent> = await crossing.outputsOfJobs();
  for (const [path, content] of Object.entries(uploads)) {
    files[path] = { blob: (await client.upload(new Uint8Array(content))).blob };
  }
  // The service judges the whole output. If the result has it truncated, the scenario knows only a part of it.
  const expected = scenario.sees.truncated ? '' : scenario.sees.stdout;
  let run: RunResult | null = null;
  const { verdict } = await client.grade(program, {
    tests: [{ name: 'one', stdin, args, files, expected }],
    limits: program.limits,
    runtime: program.runtime ?? undefined,
    onTest: (_name, result) => {
      run = result;
    },
  });
  return { run, verdict };
}

function verdictOf({ status, terminal_reason, truncated }: Omit<RunResult, 'files' | 'violations'>): string {
  if (truncated) return 'wrong_answer';
  return terminal_reason === 'compile_failed' ? 'compile_error' : VERDICTS[status as TerminalStatus];
}

async function seenOf(crossing: Crossing): Promise<Seen> {
  const { run, verdict } = await graded(crossing);
  const given = verdict.tests[0]?.verdict;
  if (run === null) {
    if (given !== 'compile_error') throw new Error(`the verdict of a test that did not run is ${given}`);
    return await readByClient(crossing, String(verdict.program.build?.job_id));
  }
  const { violations, files: _, ...seen } = run;
  const expected = verdictOf(seen);
  if (given !== expected) throw new Error(`the verdict of a test that ended as ${seen.status} is ${given}`);
  return { ...(seen as Seen), violations: typesOf(violations) };
}

const caller: Caller = {
  run: seenOf,
  cancel: async ({ client }, job_id) => {
    await client.cancel(job_id);
  },
  // The newest job is the judge job. The job before it ran the test.
  read: async (crossing, job_id) => {
    if (crossing.scenario.act !== 'key_rotated') return await readByClient(crossing, job_id);
    const [judge = '', test = ''] = await crossing.jobs();
    const { files = {} } = await readByClient(crossing, judge);
    const { verdicts } = verdictsIn(files['output/verdict.json'] ?? '');
    if (verdicts?.[0] !== 'accepted') throw new Error(`the verdict is ${verdicts?.[0]}`);
    return await readByClient(crossing, test);
  },
  // If a crash interrupted a test, the service runs the test again.
  endAgain: async (crossing) => {
    await crossing.client.cancel(await crossing.begun());
  },
  grade: async (crossing) => {
    const { program, tests = [], problem, interactor } = crossing.scenario;
    if (problem !== undefined) return verdictsIn(await gradePackage(crossing));
    const { bytes } = await crossing.client.grade(program, { tests, interactor });
    return verdictsIn(Buffer.from(bytes).toString());
  },
};

export const grading: Place = {
  title: 'grading',
  group: 'records',
  service: 'usual',
  shows: OF_EVERY_JOB,
  except: {
    glob: 'A test is judged by what its program prints, and brings no files back.',
    by_digest: 'A test is judged by what its program prints, and brings no files back.',
    named_stdin: 'A test of `grade` has its input as a text. Over HTTP it may be an upload.',
    built: 'A grading builds a program in such a language itself, once for all its tests.',
    reproducible: 'A grading asks for no fixed hash seed: each test is judged by one run.',
    session: 'Each test of a grading begins with nothing of another one.',
    tools: 'A program of a grading has no tools.',
    libraries: 'A program of a grading brings no libraries of its own: it names a pack.',
    labels: 'A grading is found by its own list. Its jobs have no labels.',
    promised: 'A grading asks for no promise: what it was asked to do is in its own record.',
    pair: 'The interactor of a grading judges each test, which is a row of its own.',
    foreign_names: 'A test is judged by what its program prints, and brings no files back.',
    repeated: 'A grading takes no key: each of its tests is a job of its own.',
  },
  open: withoutOpening({ play: async (crossing) => await playCaller(caller, crossing) }),
};
