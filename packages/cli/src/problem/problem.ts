/** A problem as judges keep it: tests in groups, how outputs are judged, and limits. Readers make it, `grade` runs it. */
import type { Checker, GradeGroup, GradeTest } from '@vouchbox/client';
import type { Language, LimitName } from '@vouchbox/protocol/vocabulary';

export interface Problem {
  /** The name that people know it by; null for a plain folder. */
  readonly name: string | null;
  readonly tests: readonly ProblemTest[];
  /** The groups in order, each with a test or more. If the list is empty, no test names a group and none is counted. */
  readonly groups: readonly GradeGroup[];
  readonly checker: Checker | null;
  /** The program that each submitted program talks with. It judges the submitted program, in place of a checker. */
  readonly interactor: Checker | null;
  readonly inputValidators: readonly PackageProgram[];
  /** The arguments that the validators get for each test, by the test's name. */
  readonly inputFlags: ReadonlyMap<string, readonly string[]>;
  /** The limits that the problem sets for each program; the grader may set others. */
  readonly limits: Readonly<Partial<Record<LimitName, number>>>;
  /** One line for each part of the package that is not used, with the reason. */
  readonly notes: readonly string[];
}

export interface ProblemTest extends GradeTest {
  /** Whether everybody may see the test's texts. */
  readonly isSample: boolean;
}

export interface PackageProgram {
  /** Its path in the package. */
  readonly name: string;
  readonly language: Language;
  readonly code: string;
}
