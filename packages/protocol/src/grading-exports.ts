/** Gradings of version 2: plans, their steps, the rules of a verdict and the programs that judge. */
export { isCompiled, PRODUCT_FILES } from './build-options.ts';
export * from './grading-job.ts';
export * from './grading-judge.ts';
export * from './grading-plan.ts';
export * from './grading-record.ts';
export * from './grading-score.ts';
export * from './grading-steps.ts';
export { inlineRoom, isCut } from './grading-texts.ts';
