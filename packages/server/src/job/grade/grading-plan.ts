/** The plan for a grading whose verdicts have version 2, in the form that the contract's steps accept. */
import type { GradingText } from '@vouchbox/protocol';
import type { GraderProgram, GradingPlan, PlannedTest, PlanText } from '@vouchbox/protocol/grading-steps';
import { heldNameOf } from '../../store/blobs/blobs-named.ts';
import type { GradingWork } from '../../store/records/gradings.ts';
import { type GradedJobsOptions, testContents } from './graded-jobs.ts';
import {
  digestIn,
  type GradingCommon,
  type StoredGrader,
  type TestContent,
  type TestHead,
  withGraders,
} from './grading-body.ts';

/** How many tests are read together. */
const testsAtOnce = 32;

export interface Planned {
  readonly plan: GradingPlan;
  /** The tests that have files of their own. These files are read only for the job that gets them. */
  readonly withFiles: ReadonlySet<number>;
}

/** A grading's plan; null if its verdicts have version 1. The plan names the grader's programs by their pointers. */
export async function planOf(
  { tenant, grading_id, common, heads }: GradingWork,
  options: GradedJobsOptions,
): Promise<Planned | null> {
  const stored = JSON.parse(common) as GradingCommon;
  const { plan, requirements } = stored;
  if (plan === undefined) return null;
  const { checker, interactor, validators = [] } = withGraders(stored, graderOf);
  const planText = async (text: GradingText): Promise<PlanText> => {
    if (typeof text === 'string') return { text };
    const sha256 = digestIn(text.blob);
    const size_bytes = (await options.store.blob({ tenant, sha256: heldNameOf(sha256) }))?.size_bytes ?? 0;
    return { sha256, size_bytes };
  };
  const tests: PlannedTest[] = [];
  const withFiles = new Set<number>();
  const key = { tenant, grading_id };
  let contents: readonly TestContent[] = [];
  for (const [at, head] of heads.entries()) {
    const place = at % testsAtOnce;
    if (place === 0) contents = await testContents(key, { from: at, limit: testsAtOnce }, options);
    const { stdin, expected, args, env, checker_args, files } = contents[place] as TestContent;
    if (files.length > 0) withFiles.add(at);
    const texts = {
      ...(stdin !== null && { stdin: await planText(stdin) }),
      ...(expected !== null && { expected: await planText(expected) }),
    };
    tests.push({ ...(JSON.parse(head) as TestHead), ...texts, args, env, checker_args });
  }
  return { plan: { ...plan, tests, requirements, checker: checker ?? undefined, interactor, validators }, withFiles };
}

/** A grader's program. Its `code` is the program's pointer, because the code is read only when a job needs it. */
function graderOf({ language, codes, args, asked }: StoredGrader, pointer: string): GraderProgram {
  return { language, code: pointer, codes, args, limits: asked };
}
