/**
 * Runs two jobs whose programs talk to each other, each in its own cell and slot. Once both cells hold their programs,
 * one transaction stores both jobs as running, and both programs are released. If either cell is missing, neither runs.
 */

import { interaction } from '../../sandbox/program/interaction.ts';
import type { InteractionSide } from '../../sandbox/sandbox.ts';
import type { ChosenJob } from '../../store/records/answers.ts';
import { persistently } from '../finish/persistently.ts';
import { kindFor } from './cells.ts';
import { contextOf, type LoadedJob, loadedIn, specOf, startAttemptsMax } from './launch.ts';
import { type Control, type LaunchedJob, launchedJob } from './launched-job.ts';
import { executionRecord, type JobContext, type JobDependencies, runProgram, takeDown } from './run-program.ts';
import { endWithoutRun, type FailureBeforeRun, failureOf } from './without-run.ts';

export type ChosenPair = ChosenJob & { readonly peer: ChosenJob };

/** Takes both jobs into slots. */
export function launchPair(job: ChosenPair, dependencies: JobDependencies): readonly LaunchedJob[] {
  const over = Promise.withResolvers<void>();
  const controls: Control[] = [];
  const launched = [job, job.peer].map((each) =>
    launchedJob(each, dependencies.log, (control) => {
      controls.push(control);
      return over.promise;
    }),
  );
  over.resolve(takeBothToEnd(job, controls, dependencies));
  return launched;
}

/** What is known about one of the two jobs before its start. */
interface Part {
  readonly context: Omit<JobContext, 'spec'>;
  readonly side: InteractionSide;
  readonly job: ChosenJob;
}

type Ready = LoadedJob & { readonly context: JobContext };

async function takeBothToEnd(job: ChosenPair, controls: readonly Control[], dependencies: JobDependencies) {
  const sides = interaction();
  const parts = [job, job.peer].map((each, index): Part => {
    const [control, side] = [controls[index], sides[index]];
    if (control === undefined || side === undefined) throw new Error('a pair has two jobs');
    return { context: contextOf(each, control, dependencies), side, job: each };
  });
  const ready: Ready[] = [];
  const failures = (await Promise.all(parts.map((part) => prepare(part, ready)))).filter((failure) => failure !== null);
  try {
    const [first] = failures;
    if (first !== undefined) return await endBoth(parts, first);
    await runBoth(parts, ready);
  } catch (error) {
    await endBoth(parts, failureOf(error));
  } finally {
    await Promise.all(ready.map(({ cell, context }) => takeDown(cell, context)));
  }
}

/** Prepares one cell up to its program's release. Returns why that failed; null if nothing failed, or if the job must not run. */
async function prepare({ context, side, job }: Part, ready: Ready[]): Promise<FailureBeforeRun | null> {
  try {
    const spec = await specOf(job, context);
    if (spec === null) return null;
    const whole = { ...context, spec, interaction: side };
    const signal = context.control.unwanted.signal;
    const cell = await context.cells.prepare({ ...kindFor(spec, context.key.tenant), signal });
    const loaded = await loadedIn(cell, whole).catch(async (error: unknown) => {
      await takeDown(cell, whole);
      throw error;
    });
    if ('loaded' in loaded) ready.push({ ...loaded, context: whole });
    else await takeDown(cell, whole);
    return 'loaded' in loaded ? null : loaded.unfit;
  } catch (error) {
    return failureOf(error);
  }
}

/** Stores both jobs as running and releases both programs. Does nothing if one of the jobs must not run. */
async function runBoth(parts: readonly Part[], ready: readonly Ready[]): Promise<void> {
  const [program, interactor] = parts.map(({ side }) => ready.find(({ context }) => context.interaction === side));
  if (program === undefined || interactor === undefined) return;
  const both = [program, interactor];
  if (both.some(({ context }) => context.control.cause !== null)) return;
  for (const { context } of both) context.control.started = true;
  if (!(await startStored(program, interactor))) return;
  // If one of the two was stopped meanwhile, the other is stopped, too, because it would wait for the stopped program.
  const cause = program.context.control.cause ?? interactor.context.control.cause;
  for (const { context } of both) context.control.cause ??= cause;
  const runs = both.map(async (each) => {
    try {
      await runProgram(each.context, { ...each, execution: executionRecord(each.loaded) });
    } finally {
      each.context.interaction?.gone();
    }
  });
  await Promise.all(runs);
}

/** Stores both jobs as running; false if one of them was cancelled meanwhile. */
async function startStored({ context, loaded }: Ready, interactor: Ready): Promise<boolean> {
  const { history, key, created_at, clock, log, giveUp } = context;
  const start = {
    ...key,
    created_at,
    started_at: clock.timestamp(),
    execution: executionRecord(loaded),
    interactor: { job_id: interactor.context.key.job_id, execution: executionRecord(interactor.loaded) },
  };
  return await persistently(() => history.start(start), {
    signal: giveUp,
    attemptsMax: startAttemptsMax,
    failed: (error) => log.error({ err: error, job_id: key.job_id }, 'a start could not be stored'),
  });
}

/**
 * Ends both jobs because of one failure. The program's job ends last: the queue lists the pair under the id of that job,
 * and so still finds a pair of which only one job has ended.
 */
async function endBoth(parts: readonly Part[], failure: FailureBeforeRun): Promise<void> {
  for (const { context, side } of parts.toReversed()) {
    side.gone();
    await endWithoutRun(context, failure);
  }
}
