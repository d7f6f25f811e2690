/** The plan of a grading whose verdicts have version 2, as the steps of the contract take it. */
import type { GradingText } from '@vouchbox/protocol';
import type { GraderProgram, GradingPlan, PlannedTest, PlanText } from '@vouchbox/protocol/grading-steps';
import type { GradingWork } from '../../store/records/gradings.ts';
import { type GradedJobsOptions, testContent } from './graded-jobs.ts';
import { digestIn, type GradingCommon, type StoredGrader, type TestHead } from './grading-body.ts';
import { CHECKER, INTERACTOR, validatorName } from './step-jobs.ts';

/** Null for a grading whose verdicts have version 1. Programs of the grader stand in it by their names. */
export async function planOf(
  { tenant, grading_id, common, heads }: GradingWork,
  options: GradedJobsOptions,
): Promise<GradingPlan | null> {
  const { plan, checker, interactor, validators = [], requirements } = JSON.parse(common) as GradingCommon;
  if (plan === undefined) return null;
  const tests: PlannedTest[] = [];
  for (const [at, head] of heads.entries()) {
    const { stdin, expected, args, env, checker_args } = await testContent({ tenant, grading_id }, at, options);
    const texts = {
      ...(stdin !== null && { stdin: planText(stdin) }),
      ...(expected !== null && { expected: planText(expected) }),
    };
    tests.push({ ...(JSON.parse(head) as TestHead), ...texts, args, env, checker_args });
  }
  return {
    ...plan,
    tests,
    requirements,
    ...(checker !== null && { checker: graderOf(CHECKER, checker) }),
    ...(interactor !== undefined && { interactor: graderOf(INTERACTOR, interactor) }),
    validators: validators.map((validator, at) => graderOf(validatorName(at), validator)),
  };
}

function planText(text: GradingText): PlanText {
  return typeof text === 'string' ? { text } : { sha256: digestIn(text.blob), size_bytes: 0 };
}

function graderOf(name: string, { language, codes, args, asked }: StoredGrader): GraderProgram {
  return { language, code: name, codes, args, limits: asked };
}
