/** Claims about the judging, and what a run showed about each claim. */

export interface Claim {
  readonly name: string;
  readonly what: string;
  show(at: Place): Promise<Shown>;
}

/** What a trial of a claim is given. */
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
  /** Why the claim does not hold; empty if it holds. */
  readonly problems: readonly string[];
  /** Figures that were measured, in words. */
  readonly told: readonly string[];
}

/** Collects the problems of a claim. A claim that cannot be tried does not hold, and the reason is its problem. */
export class Findings implements Shown {
  readonly problems: string[] = [];
  readonly told: string[] = [];

  /** Notes a problem and what was seen, unless `isTrue` is set. */
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
