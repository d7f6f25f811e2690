/**
 * Makes a service's answers the same each time that the page is written: ids, times, durations and values derived from them are
 * replaced, each by the same value in every place. What an example is about stays unchanged.
 */
import { createHash } from 'node:crypto';

const FIRST_CREATED = Date.parse('2026-01-05T09:30:00.000Z');
const MINUTE = 60_000;

/** The milliseconds from the job's creation to the time that is shown, keyed by the member's name or the event's kind. */
const MOMENTS: Readonly<Record<string, number>> = {
  created_at: 0,
  queued: 0,
  started_at: 120,
  started: 120,
  stdout: 160,
  artifact: 180,
  finished_at: 180,
  finished: 180,
  expires_at: 31_000,
  link_ends: 7 * 24 * 60 * MINUTE,
};

/** The numbers that replace measured numbers, keyed by member. */
const NUMBERS: Readonly<Record<string, number>> = {
  duration_ms: 60,
  wall_ms: 58,
  cpu_ms: 31,
  memory_peak_bytes: 9_437_184,
  uptime_seconds: 42.5,
  expires_in: 30,
  concurrent_mem_mb_max: 8192,
  envelope_size_bytes: 4528,
  result_size_bytes: 494,
};

/** Digests of the example's own texts. They are the same each time. */
const LASTING = new Set([
  ...['code_sha256', 'stdin_sha256', 'args_sha256', 'env_sha256', 'raw_sha256', 'stdout_sha256', 'stderr_sha256'],
  ...['sha256', 'genesis'],
]);
const DIGEST = /[0-9a-f]{64}/g;
/** Texts that nobody reads, and how many characters of each are shown. */
const CUT: Readonly<Record<string, number>> = { payload: 48, sig: 0, next_cursor: 0 };
const TICKET = 'a-ticket-for-one-use';
const LINK = 'q8GrS0mE1iNkId4x';
const JOB_ID = /(?<=job_|grading_)[0-9a-f-]{36}/g;

export class Stable {
  readonly #jobs = new Map<string, string>();
  readonly #digests = new Map<string, string>();

  /** A JSON body after everything that varies was replaced. */
  body(value: unknown, name = '', job = 0): unknown {
    if (Array.isArray(value)) return value.map((item) => this.body(item, name, job));
    if (typeof value === 'number') return NUMBERS[name] ?? value;
    if (typeof value === 'string') return this.#text(value, name, job);
    if (typeof value !== 'object' || value === null) return value;
    const members = value as Record<string, unknown>;
    const own = typeof members['job_id'] === 'string' ? this.#numberOf(members['job_id']) : job;
    const kind = typeof members['kind'] === 'string' ? members['kind'] : '';
    const isLink = 'link_id' in members;
    return Object.fromEntries(
      Object.entries(members).map(([each, member]) => [
        each,
        this.body(member, each === 'timestamp' ? kind : isLink && each === 'expires_at' ? 'link_ends' : each, own),
      ]),
    );
  }

  /** A header after everything that varies was replaced. */
  header(value: string): string {
    return this.#withIds(value).replace(DIGEST, (digest) => this.#digest(digest));
  }

  #text(value: string, name: string, job: number): string {
    if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) {
      return new Date(FIRST_CREATED + Math.max(job - 1, 0) * MINUTE + (MOMENTS[name] ?? 0)).toISOString();
    }
    if (name === 'ticket') return TICKET;
    if (name === 'link_id') return LINK;
    if (name === 'link_url') return `/links/${LINK}#the-secret-of-the-link`;
    if (name === 'request_id') return 'req_01a0…';
    if (name === 'public_key_pem') return value.replace(/\n.{16}[\s\S]*?\n-/, '\nMCowBQYDK2VwAyEA…\n-');
    const text = LASTING.has(name) ? value : value.replace(DIGEST, (digest) => this.#digest(digest));
    return cut(this.#withIds(text), name);
  }

  #withIds(text: string): string {
    return text.replace(JOB_ID, (id) => `019b8d6a-7c00-7000-8000-${String(this.#numberOf(id)).padStart(12, '0')}`);
  }

  /** The number of a job. Jobs are numbered from 1, in the order in which they first occur. */
  #numberOf(job_id: string): number {
    const id = this.#jobs.get(job_id) ?? String(this.#jobs.size + 1);
    this.#jobs.set(job_id, id);
    return Number(id);
  }

  #digest(digest: string): string {
    if (/^0+$/.test(digest)) return digest;
    const example = createHash('sha256')
      .update(`example ${this.#digests.size + 1}`)
      .digest('hex');
    const found = this.#digests.get(digest) ?? example;
    this.#digests.set(digest, found);
    return found;
  }
}

function cut(text: string, name: string): string {
  const characters = CUT[name] ?? text.length;
  return text.length > characters ? `${text.slice(0, characters)}…` : text.replace(/(ticket=).+/, `$1${TICKET}`);
}
