/** What is claimed of the judging, and what a run showed of each claim. */

export interface Claim {
  readonly name: string;
  readonly what: string;
  show(at: Place): Promise<Shown>;
}

/** Where claims are tried. */
export interface Place {
  /** The directory of the pack that compiles C and C++. */
  readonly packs: string;
  /** How many programs and graphs are tried. */
  readonly programs: number;
  readonly graphs: number;
  readonly seed: number;
  say(line: string): void;
}

export interface Shown {
  /** What does not hold; none where the claim does. */
  readonly problems: readonly string[];
  /** Figures. */
  readonly told: readonly string[];
}

/** Collects what does not hold. What cannot even be tried does not hold, for the reason that was given. */
export class Findings implements Shown {
  readonly problems: string[] = [];
  readonly told: string[] = [];

  /** Notes a problem, with what was seen, unless the claim is true. */
  holds(what: string, isTrue: boolean, seen: unknown): void {
    if (!isTrue) this.problems.push(`${what}: ${typeof seen === 'string' ? seen : JSON.stringify(seen)}`);
  }

  async tried(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.problems.push(`${what}: ${(error as Error).message}`);
    }
  }
}
