/**
 * Changes of the sources, each of which makes statements of docs/SPEC.md false. For every statement that it names, a test
 * with that id must fail: `npm run mutate`.
 */
export interface Mutation {
  /** What the service does then. */
  readonly name: string;
  readonly falsifies: readonly [string, ...string[]];
  readonly file: string;
  /** Stands once in the file. */
  readonly from: string;
  readonly to: string;
}

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'clamps nothing',
    falsifies: ['Submission-24', 'What-3', 'Limits-22'],
    file: 'packages/server/src/job/admit/policy.ts',
    from: 'Math.min(limits[name], ceilings[name])',
    to: 'limits[name]',
  },
];
