/** A host's report has one line of JSON for each trial. */
export interface Outcome {
  readonly held: boolean;
  /** What the trial showed, in one line. */
  readonly observed: string;
}

export interface Reported extends Outcome {
  readonly trial: string;
  readonly seconds: number;
  /** Everything that the trial printed; only the last part if it is long. */
  readonly log: string;
}
