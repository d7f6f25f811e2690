/** A problem as judges keep it: tests in groups, how outputs are judged, and limits. Readers make it, `grade` runs it. */
import type { Checker, GradeTest } from '@vouchbox/client';
import type { Language, LimitName } from '@vouchbox/protocol/vocabulary';

export interface Problem {
  /** The name that people know it by; null for a plain folder. */
  readonly name: string | null;
  readonly tests: readonly ProblemTest[];
  /** In their order, each with at least one test. Empty: nothing is counted by groups. */
  readonly groups: readonly ProblemGroup[];
  readonly checker: Checker | null;
  readonly inputValidators: readonly PackageProgram[];
  /** What they are told of each test, by its name. */
  readonly inputFlags: ReadonlyMap<string, readonly string[]>;
  /** What it asks for each program; who grades may ask otherwise. */
  readonly limits: Readonly<Partial<Record<LimitName, number>>>;
  /** What of it is not used, and why, each in one line. */
  readonly notes: readonly string[];
}

export interface ProblemTest extends GradeTest {
  readonly group: string | null;
  /** Whether everybody may see its texts. */
  readonly isSample: boolean;
  readonly validatorFlags: readonly string[];
}

export interface ProblemGroup {
  readonly name: string;
  /** What it counts if all of its tests are accepted; null if the points of its tests are added up. */
  readonly points: number | null;
  /** Whether its tests after the first that is not accepted count nothing. */
  readonly stops: boolean;
  /** Groups of which all tests must be accepted, or it counts nothing. */
  readonly after: readonly string[];
}

export interface PackageProgram {
  /** Its path in the package. */
  readonly name: string;
  readonly language: Language;
  readonly code: string;
}
