/**
 * Details of jobs to which nothing happens any more, as they were last read: whoever asks again is answered without the
 * ledger. Only for a ledger that no other process changes. What may change a final detail, its removal or the withdrawal of
 * an attestation, goes through `change`, which forgets everything: it is rare, and what is forgotten is read again.
 */
import type { Soon } from '../soon.ts';
import type { DetailText, JobDetailInput } from './records.ts';

/** Characters of all details together: some thousands of jobs. */
const charsKeptMax = 8 * 2 ** 20;

export class FinalDetails {
  readonly #charsMax: number;
  readonly #kept = new Map<string, string>();
  #chars = 0;
  /** Changes under way, and those that have ended: what was read beside one may be older than it. */
  #changing = 0;
  #changed = 0;

  constructor(charsMax = charsKeptMax) {
    this.#charsMax = charsMax;
  }

  /** The detail that is kept, or what `ask` finds. Null where the tenant has no such job. */
  read(input: JobDetailInput, ask: () => Promise<DetailText | null>): Soon<string | null> {
    const name = nameOf(input);
    const kept = this.#kept.get(name);
    if (kept !== undefined) return kept;
    const changed = this.#changed;
    return ask().then((detail) => {
      if (detail === null) return null;
      if (detail.isFinal && this.#changing === 0 && this.#changed === changed) this.#keep(name, detail.text);
      return detail.text;
    });
  }

  /** Has something changed that may be kept: nothing is, from before it begins until it has ended. */
  async change<Answer>(make: () => Promise<Answer>): Promise<Answer> {
    this.#changing += 1;
    this.#kept.clear();
    this.#chars = 0;
    try {
      return await make();
    } finally {
      this.#changing -= 1;
      this.#changed += 1;
    }
  }

  #keep(name: string, text: string): void {
    if (text.length > this.#charsMax || this.#kept.has(name)) return;
    this.#kept.set(name, text);
    this.#chars += text.length;
    // A Map lists its entries in the order of their insertion: what was read first is forgotten first.
    for (const [oldest, { length }] of this.#kept) {
      if (this.#chars <= this.#charsMax) break;
      this.#kept.delete(oldest);
      this.#chars -= length;
    }
  }
}

/** No tenant and no identifier has a space in it. */
function nameOf({ key, signing }: JobDetailInput): string {
  return `${signing} ${key.tenant} ${key.job_id}`;
}
