/**
 * A grading whose one test is the program of the scenario, run by `grade`. The test's run is what is seen; the verdict must say
 * the same.
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

/** The word of a verdict for a test whose program ended so, as docs/GRADING.md defines it. */
const VERDICTS: Readonly<Record<TerminalStatus, string>> = {
  succeeded: 'accepted',
  failed: 'runtime_error',
  timed_out: 'time_limit',
  oom_killed: 'memory_limit',
  cancelled: 'not_run',
  error: 'not_run',
};

async function graded(crossing: Crossing): Promise<{ readonly run: RunResult; readonly verdict: Verdict }> {
  const { client, scenario } = crossing;
  const { uploads = {}, fromJobs: _, stdin, args, ...program } = scenario.program;
  const files: Record<string, NamedContent> = await crossing.outputsOfJobs();
  for (const [path, content] of Object.entries(uploads)) {
    files[path] = { blob: (await client.upload(new Uint8Array(content))).blob };
  }
  // All outputs and expected outputs together have a bound. For a cut output nothing is expected.
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
  if (run === null) throw new Error('the test did not run');
  return { run, verdict };
}

function verdictOf({ status, terminal_reason, truncated }: Omit<RunResult, 'files' | 'violations'>): string {
  if (truncated) return 'output_limit';
  return terminal_reason === 'compile_failed' ? 'compile_error' : VERDICTS[status as TerminalStatus];
}

function seenOf({ run, verdict }: Awaited<ReturnType<typeof graded>>): Seen {
  const { violations, files: _, ...seen } = run;
  const given = verdict.tests[0]?.verdict;
  const expected = verdictOf(seen);
  if (given !== expected) throw new Error(`the verdict of a test that ended as ${seen.status} is ${given}`);
  return { ...(seen as Seen), violations: typesOf(violations) };
}

const caller: Caller = {
  run: async (crossing) => seenOf(await graded(crossing)),
  cancel: async ({ client }, job_id) => {
    await client.cancel(job_id);
  },
  // The newest job is the one that judged; the one before it ran the test.
  read: async (crossing, job_id) => {
    if (crossing.scenario.act !== 'key_rotated') return await readByClient(crossing, job_id);
    const [judge = '', test = ''] = await crossing.jobs();
    const { files = {} } = await readByClient(crossing, judge);
    const { verdicts } = verdictsIn(files['output/verdict.json'] ?? '');
    if (verdicts?.[0] !== 'accepted') throw new Error(`the verdict is ${verdicts?.[0]}`);
    return await readByClient(crossing, test);
  },
  // A test that a crash broke off is made again.
  endAgain: async (crossing) => {
    await crossing.client.cancel(await crossing.begun());
  },
  grade: async (crossing) => {
    const { program, tests = [], problem } = crossing.scenario;
    if (problem !== undefined) return verdictsIn(await gradePackage(crossing));
    const { bytes } = await crossing.client.grade(program, { tests });
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
    pair: 'A grading takes a program alone, and refuses one with an interactor.',
    foreign_names: 'A test is judged by what its program prints, and brings no files back.',
    repeated: 'A grading takes no key: each of its tests is a job of its own.',
  },
  open: withoutOpening({ play: async (crossing) => await playCaller(caller, crossing) }),
};
