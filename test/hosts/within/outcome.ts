/** The report of a host, one line of JSON for each trial. */
export interface Outcome {
  readonly held: boolean;
  /** The observation, in one line. */
  readonly observed: string;
}

export interface Reported extends Outcome {
  readonly trial: string;
  readonly seconds: number;
  /** Everything that the trial printed; its end, if it is long. */
  readonly log: string;
}
