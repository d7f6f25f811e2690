/**
 * What this process knows about the queue without reading it: whether a job may be waiting, and whether there ever was a second
 * tenant. Every job enters the queue through this process, so a queue that was found empty stays empty until the next job
 * enters. If nothing is known, jobs are assumed to wait.
 */
import { fairShare } from '../../store/jobs/fair-share.ts';
import type { QueueAnswer } from '../../store/records/answers.ts';
import type { Shares } from '../../store/records/inputs.ts';

/** Stands for several tenants while the real tenants are not known. */
const SEVERAL = ['', ''];

export class QueueKnowledge {
  #mayHold = true;
  /** The number of jobs that are entering the queue. */
  #entering = 0;
  /** Counts the events after which an earlier look at the queue is out of date. */
  #changes = 0;
  /** At most two of the known tenants, because more make no difference. Null before the first look. */
  #tenants: Set<string> | null = null;

  /** Whether the queue is known to be empty and no job is entering it. */
  get isSurelyEmpty(): boolean {
    return !this.#mayHold && this.#entering === 0;
  }

  /** Forgets the known facts, because a job may have been queued or the last look was long ago. */
  doubt(): void {
    this.#mayHold = true;
    this.#changes += 1;
  }

  /** Stores a job in the queue. The job counts as waiting even before it is stored. */
  async enter<Answer>(store: () => Promise<Answer>): Promise<Answer> {
    this.#entering += 1;
    this.doubt();
    try {
      return await store();
    } finally {
      this.#entering -= 1;
      this.doubt();
    }
  }

  /** Begins a look at the queue. Call the returned function with what was found; `isEmpty` means that all jobs were taken. */
  look(): (found: Pick<QueueAnswer, 'isEmpty' | 'tenants'>) => void {
    const changes = this.#changes;
    return ({ isEmpty, tenants }) => {
      this.#tenants ??= new Set();
      for (const tenant of tenants) this.#note(tenant);
      if (isEmpty && this.#changes === changes && this.#entering === 0) this.#mayHold = false;
    };
  }

  /** How many slots the tenant may hold. Other tenants are assumed to exist unless this tenant is known to be the only one. */
  shareOf(tenant: string, shares: Shares): number {
    this.#note(tenant);
    return fairShare(shares, this.#tenants === null ? SEVERAL : [...this.#tenants]);
  }

  #note(tenant: string): void {
    if (this.#tenants !== null && this.#tenants.size < SEVERAL.length) this.#tenants.add(tenant);
  }
}
