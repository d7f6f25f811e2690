/** A problem as judges keep it: tests in groups, how outputs are judged, and limits. It is read from files for `grade`. */
import type { Checker, GradeGroup, GradeTest } from '@vouchbox/client';
import type { Language, LimitName } from '@vouchbox/protocol/vocabulary';

export interface Problem {
  /** The problem's name for people; null for a plain folder. */
  readonly name: string | null;
  readonly tests: readonly ProblemTest[];
  /** The groups in order, each with at least one test. If there are no groups, no test names one, and each test has one point. */
  readonly groups: readonly GradeGroup[];
  readonly checker: Checker | null;
  /** The program that a submitted program talks with. It judges the submitted program instead of a checker. */
  readonly interactor: Checker | null;
  readonly inputValidators: readonly PackageProgram[];
  /** The arguments that the validators get for each test, by the test's name. */
  readonly inputFlags: ReadonlyMap<string, readonly string[]>;
  /** The limits that the problem sets for a program. The person who grades may set others. */
  readonly limits: Readonly<Partial<Record<LimitName, number>>>;
  /** For each part of the package that is not used, one line with the reason. */
  readonly notes: readonly string[];
}

export interface ProblemTest extends GradeTest {
  /** Whether everybody may see the test's texts. */
  readonly isSample: boolean;
}

export interface PackageProgram {
  /** The program's path in the package. */
  readonly name: string;
  readonly language: Language;
  readonly code: string;
}
