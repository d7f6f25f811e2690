/** The result of one trial: a word, a line, and what to do. */

/** `warn`: the service works, but less well or less safely. `not_tried`: another check, which this check needs, did not pass. */
export type CheckResult = 'pass' | 'warn' | 'fail' | 'not_tried';

/** How one trial ended. */
export interface Finding {
  readonly result: CheckResult;
  /** The observation, in one line. */
  readonly observed: string;
  /** The exact thing to do about the observation; null if there is nothing to do. */
  readonly fix: string | null;
}

/** One control of this host, and the result of trying it. `id` is stable and made of words with dots between. */
export interface Check extends Finding {
  readonly id: string;
  readonly title: string;
}

export function pass(observed: string): Finding {
  return { result: 'pass', observed, fix: null };
}

export function warn(observed: string, fix: string): Finding {
  return { result: 'warn', observed, fix };
}

export function fail(observed: string, fix: string): Finding {
  return { result: 'fail', observed, fix };
}
