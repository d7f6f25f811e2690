/** Tries one control. A trial is bounded in time and never throws. It is left out if a check that it needs did not pass. */
import { within } from '../../../ground/waiting/within.ts';
import { hostPatience } from '../../kernel/host/patience.ts';
import type { Check, Finding } from './finding.ts';

/** How long a trial may take; an ordinary host needs less. */
const TRIAL_MILLISECONDS_MAX = 45_000;

/** A control that can be tried. */
export interface Trial {
  readonly id: string;
  readonly title: string;
  /** Ids of checks that must have passed, with or without a warning. */
  readonly needs?: readonly string[];
  /** The advice if the trial throws an error without a hint, or if it does not end in time. */
  readonly fix: string;
  /** Rejects with its observation if the control does not work. */
  attempt(): Promise<Finding> | Finding;
}

/** Tries controls one at a time and keeps the results. */
export class Checks {
  readonly #done = new Map<string, Check>();
  readonly #onCheck: (check: Check) => void;
  readonly #whyNot: (id: string) => string | null;

  /** @param whyNot says why a check is left out; null if the check is made */
  constructor(onCheck: (check: Check) => void = () => {}, whyNot: (id: string) => string | null = () => null) {
    this.#onCheck = onCheck;
    this.#whyNot = whyNot;
  }

  get all(): readonly Check[] {
    return [...this.#done.values()];
  }

  /** Whether a check was made and passed without a warning. */
  passed(id: string): boolean {
    return this.#done.get(id)?.result === 'pass';
  }

  /** Whether a check was made and did not fail. */
  holds(id: string): boolean {
    const result = this.#done.get(id)?.result;
    return result === 'pass' || result === 'warn';
  }

  /** Runs the trials one after the other, in this order. */
  async run(trials: readonly Trial[]): Promise<void> {
    for (const trial of trials) await this.#run(trial);
  }

  /** Like `run`, but side by side: first all trials that need no other trial, then all others. The results are the same. */
  async runTogether(trials: readonly Trial[]): Promise<void> {
    await Promise.all(trials.filter(({ needs = [] }) => needs.length === 0).map((trial) => this.#run(trial)));
    await Promise.all(trials.filter(({ needs = [] }) => needs.length > 0).map((trial) => this.#run(trial)));
  }

  async #run(trial: Trial): Promise<void> {
    const missing = (trial.needs ?? []).find((id) => !this.holds(id));
    const why = this.#whyNot(trial.id) ?? (missing === undefined ? null : `needs ${missing}`);
    const finding = why === null ? await tryIt(trial) : notTried(why);
    const check = { id: trial.id, title: trial.title, ...finding };
    this.#done.set(trial.id, check);
    this.#onCheck(check);
  }
}

async function tryIt(trial: Trial): Promise<Finding> {
  const { fix } = trial;
  const milliseconds = TRIAL_MILLISECONDS_MAX * (await hostPatience());
  const observed = `did not end within ${Math.round(milliseconds / 1000)} s`;
  try {
    return await within(trial.attempt(), milliseconds, { result: 'fail', observed, fix } as const);
  } catch (error) {
    const { message, hint } = error as Error & { readonly hint?: string | null };
    return { result: 'fail', observed: oneLine(message), fix: hint ?? fix };
  }
}

function notTried(observed: string): Finding {
  return { result: 'not_tried', observed, fix: null };
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, 500);
}
