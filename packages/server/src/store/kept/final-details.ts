/**
 * Keeps details of jobs that no longer change, so that further requests are answered without the store. Only for a
 * store that no other process changes. Only the removal of a job or the withdrawal of an attestation can change a final
 * detail. Both go through `change`, which drops all details; they are rare, and dropped details are read again.
 */
import type { JobDetail } from '@vouchbox/protocol';
import type { JsonText } from '../../ground/json-text.ts';
import type { DetailText } from '../records/answers.ts';
import type { JobDetailInput } from '../records/inputs.ts';
import { nameOfJob } from '../records/rows.ts';
import { Kept } from './kept.ts';

/** Characters of all details together: some thousands of jobs. */
const charsKeptMax = 8 * 2 ** 20;

export class FinalDetails {
  readonly #kept: Kept<JsonText<JobDetail>>;
  /** Changes under way, and those that have ended: a detail that was read during a change may be older than it. */
  #changing = 0;
  #changed = 0;

  constructor(charsMax = charsKeptMax) {
    this.#kept = new Kept({ sizeMax: charsMax, sizeOf: ({ length }) => length });
  }

  /** The kept detail, or what `ask` finds. Null if the tenant has no such job. */
  async read(input: JobDetailInput, ask: () => Promise<DetailText | null>): Promise<JsonText<JobDetail> | null> {
    const name = nameOf(input);
    const kept = this.#kept.get(name);
    if (kept !== undefined) return kept;
    const changed = this.#changed;
    const detail = await ask();
    if (detail === null) return null;
    if (detail.isFinal && this.#changing === 0 && this.#changed === changed) this.#kept.keep(name, detail.text);
    return detail.text;
  }

  /** Makes a change that may concern kept details. None is kept from before it begins until it has ended. */
  async change<Answer>(make: () => Promise<Answer>): Promise<Answer> {
    this.#changing += 1;
    this.#kept.clear();
    try {
      return await make();
    } finally {
      this.#changing -= 1;
      this.#changed += 1;
    }
  }
}

function nameOf({ key, signing }: JobDetailInput): string {
  return `${signing} ${nameOfJob(key)}`;
}
