/**
 * Decides which owners' interpreters are copies of a template. A copy costs a third of a started interpreter. But all copies of
 * one template share its addresses, its hash seed, and pages of memory. So each template serves one owner, and only owners who
 * ask often get one; the interpreters of all others are started anew.
 */
import type { TemplateRequest } from '../../cell/runtime.ts';
import type { Launcher } from './launcher.ts';

/** An owner gets a template after this many requests in the period. Starting a template costs as much as five interpreters. */
const ASKED_ENOUGH = 4;
const PERIOD_MILLISECONDS = 10_000;
/** How long a template is kept after the last request. */
const KEPT_MILLISECONDS = 60_000;
/** After a template failed, none is tried for its owner for this long. Meanwhile the owner's interpreters are no copies. */
const PAUSE_MILLISECONDS = 60_000;
/** The most templates at once. Each takes some 10 MiB. */
const TEMPLATES_MAX = 16;
/** The bound on how many owners without a template are remembered. */
const OWNERS_MAX = 1024;

export interface TemplatesOptions {
  /** Resolves to a launcher once the launcher has made a copy of its template. Rejects if it cannot make a copy. */
  readonly open: (request: TemplateRequest) => Promise<Launcher>;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

interface Template {
  /** Null until the template can make copies. */
  launcher: Launcher | null;
  readonly opened: Promise<void>;
  askedAt: number;
}

/** Disposing it ends every template with its copies. */
export class Templates implements AsyncDisposable {
  readonly #options: TemplatesOptions;
  readonly #now: () => number;
  /** The templates by language, pack and owner. */
  readonly #templates = new Map<string, Template>();
  /** When each owner without a template asked; the owner who asked last is at the end. */
  readonly #asked = new Map<string, readonly number[]>();
  /** The time until which no template is tried for an owner whose template failed. Other owners and packs are not affected. */
  readonly #paused = new Map<string, number>();
  readonly #ending = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: TemplatesOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** The launcher that makes copies for these cells; null if their interpreters are to be started anew. */
  launcherOf(request: Omit<TemplateRequest, 'isAsked' | 'cell'>): Launcher | null {
    return this.#templates.get(keyOf(request))?.launcher ?? null;
  }

  /** Counts a request. This may begin a template. */
  noteAsked(request: TemplateRequest): void {
    if (this.#isClosed) return;
    const key = keyOf(request);
    const known = this.#templates.get(key);
    if (known !== undefined) known.askedAt = this.#now();
    else if (this.#asksEnough(key)) this.#begin(key, request);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const templates = [...this.#templates.values()];
    await Promise.all(templates.map(({ opened }) => opened));
    await Promise.all(templates.map(async ({ launcher }) => await launcher?.[Symbol.asyncDispose]()));
    await Promise.all(this.#ending);
  }

  #asksEnough(key: string): boolean {
    const now = this.#now();
    const recent = [...(this.#asked.get(key) ?? []).filter((at) => now - at < PERIOD_MILLISECONDS), now];
    remember(this.#asked, key, recent.slice(-ASKED_ENOUGH));
    return recent.length >= ASKED_ENOUGH;
  }

  #begin(key: string, request: TemplateRequest): void {
    const now = this.#now();
    if (now < (this.#paused.get(key) ?? 0) || !this.#makesRoom(now)) return;
    this.#asked.delete(key);
    const template: Template = { launcher: null, askedAt: now, opened: this.#open(key, request) };
    this.#templates.set(key, template);
    this.#lookAgain();
  }

  async #open(key: string, request: TemplateRequest): Promise<void> {
    try {
      const launcher = await this.#options.open(request);
      const template = this.#templates.get(key);
      if (template === undefined) this.#end(launcher);
      else template.launcher = launcher;
    } catch {
      // During this pause, the owner's interpreters are started and not copied, so that no job fails.
      remember(this.#paused, key, this.#now() + PAUSE_MILLISECONDS);
      this.#templates.delete(key);
    }
  }

  /** Makes room by ending another owner's template that was not requested lately. Returns whether there is room. */
  #makesRoom(now: number): boolean {
    if (this.#templates.size < TEMPLATES_MAX) return true;
    const [oldest] = [...this.#templates].toSorted(([, one], [, other]) => one.askedAt - other.askedAt);
    if (oldest === undefined || now - oldest[1].askedAt < PERIOD_MILLISECONDS) return false;
    this.#give(oldest[0]);
    return true;
  }

  #give(key: string): void {
    const launcher = this.#templates.get(key)?.launcher ?? null;
    this.#templates.delete(key);
    if (launcher !== null) this.#end(launcher);
  }

  /** Ends a template. The copies that it has made continue. */
  #end(launcher: Launcher): void {
    const ended = launcher.retire().finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  /** Gives up templates that nobody asks for. */
  #lookAgain(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed || this.#templates.size === 0) return;
    const now = this.#now();
    for (const [key, { askedAt }] of this.#templates) if (now - askedAt >= KEPT_MILLISECONDS) this.#give(key);
    const next = Math.min(...[...this.#templates.values()].map(({ askedAt }) => askedAt + KEPT_MILLISECONDS));
    if (!Number.isFinite(next)) return;
    this.#timer = setTimeout(() => this.#lookAgain(), next - now + 1);
    this.#timer.unref();
  }
}

/** Puts a row last, and drops the first row if there are too many. */
function remember<Row>(rows: Map<string, Row>, key: string, row: Row): void {
  rows.delete(key);
  rows.set(key, row);
  const [oldest] = rows.keys();
  if (rows.size > OWNERS_MAX && oldest !== undefined) rows.delete(oldest);
}

function keyOf({ language, pack, owner }: Pick<TemplateRequest, 'language' | 'pack' | 'owner'>): string {
  return `${language} ${pack.name} ${owner}`;
}
