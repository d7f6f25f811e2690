/** The report about a result: who signed it according to the typed key, and what that proves. */
import { EXPORT_FILES, type LogKeys } from '@vouchbox/evidence';
import { canVerifySignatures } from '@vouchbox/verifier';
import type { Checker } from './check/checker.ts';
import type { Findings } from './check/findings.ts';
import type { Files } from './intake/export-files.ts';
import { type PinnedKeys, pinnedKeysIn } from './intake/pinned-keys.ts';
import { byId, element } from './view/element.ts';
import { type ShownVerdict, shownVerdict, verdictTitle, verdictView } from './view/verdict.ts';

/** The most characters of typed keys. One key has a few hundred bytes; several keys have a few thousand. */
const keyCharactersMax = 64 * 1024;

/** A result that was read, and its checker. */
interface Taken {
  readonly files: Files;
  readonly checker: Checker;
}

export interface ReportOptions {
  /** The parts of the report below the verdict. */
  readonly parts: (files: Files, findings: Findings, verdict: ShownVerdict) => readonly (HTMLElement | null)[];
  /** Says that a check could not be made. */
  readonly refuse: (error: unknown) => void;
}

export class Report {
  readonly #options: ReportOptions;
  readonly #key = byId<HTMLTextAreaElement>('key');
  readonly #keyNote = byId('key-note');
  readonly #report = byId('report');
  readonly #findings = byId('findings');
  readonly #title = document.title;
  #taken: Taken | null = null;
  /** The number of the latest examination. If an earlier examination ends later, it is not shown. */
  #turn = 0;

  constructor(options: ReportOptions) {
    this.#options = options;
    byId<HTMLInputElement>('choose-key').addEventListener('change', ({ target }) => {
      const input = target as HTMLInputElement;
      const [file] = input.files ?? [];
      if (file !== undefined) void this.takeKey(file);
      // With an empty value, the same file can be chosen again.
      input.value = '';
    });
    const examine = () => void this.#examine().catch(options.refuse);
    for (const id of ['key', 'tenant', 'job']) byId(id).addEventListener('input', examine);
  }

  /** Shows what was taken, and examines it again with each key. */
  async show(taken: Taken): Promise<void> {
    this.#taken = taken;
    await this.#examine();
  }

  clear(): void {
    this.#turn++;
    this.#taken = null;
    this.#report.replaceChildren();
    this.#findings.replaceChildren();
    this.#report.removeAttribute('aria-busy');
    document.title = this.#title;
    delete document.documentElement.dataset['verdict'];
  }

  /** Shows a problem in the place of the verdict. */
  showProblem(problem: HTMLElement): void {
    this.#report.replaceChildren(problem);
  }

  async takeKey(file: File): Promise<void> {
    const text = await file
      .slice(0, keyCharactersMax)
      .text()
      .catch(() => null);
    if (text === null) return say(this.#keyNote, `${file.name} cannot be read.`, 'problem');
    this.#key.value = text.trim();
    await this.#examine().catch(this.#options.refuse);
    this.foldKeys();
  }

  /** Once there is a verdict, the part for keys stays open only until a key is taken. */
  foldKeys(): void {
    if (this.#taken === null) return;
    byId<HTMLDetailsElement>('key-part').open =
      this.#keyNote.textContent === '' || this.#keyNote.classList.contains('problem');
  }

  /** Makes every check again. A key is checked even before there is a result, so that a problem with the key shows early. */
  async #examine(): Promise<void> {
    const own = ++this.#turn;
    const taken = this.#taken;
    const keys = this.#pinnedKeys(taken);
    const { pems, log, problem } = keys;
    say(this.#keyNote, problem ?? keyText(pems.length, log), problem === null ? '' : 'problem');
    if (taken === null) return;
    this.#report.setAttribute('aria-busy', 'true');
    if (this.#report.childElementCount === 0) this.#report.append(element('p', { class: 'note' }, 'Checking …'));
    await taken.checker.settled();
    // While a check runs, only the latest input is kept for the next check.
    if (own !== this.#turn) return;
    const findings = await taken.checker.examine({
      publicKeys: pems,
      log,
      canVerify: await canVerifySignatures(),
      tenant: expected('tenant'),
      job: expected('job'),
    });
    if (own === this.#turn) this.#put(taken.files, findings, keys);
  }

  #pinnedKeys(taken: Taken | null): PinnedKeys {
    const enclosed = taken?.files.get(EXPORT_FILES.publicKey);
    const pem = enclosed === undefined ? null : new TextDecoder('utf-8', { ignoreBOM: true }).decode(enclosed);
    const isKeyEarly = taken === null && /^\s*(sha256:|[0-9a-f]{64}\b)/i.test(this.#key.value);
    return pinnedKeysIn(isKeyEarly ? '' : this.#key.value.slice(0, keyCharactersMax), pem);
  }

  #put(files: Files, findings: Findings, keys: PinnedKeys): void {
    this.#report.removeAttribute('aria-busy');
    const verdict = shownVerdict(findings, keys, files.has(EXPORT_FILES.envelope));
    const parts = this.#options.parts(files, findings, verdict);
    this.#report.replaceChildren(verdictView(findings, verdict, keys.problem));
    this.#findings.replaceChildren(...parts.filter((part) => part !== null));
    const title = verdictTitle(verdict);
    document.documentElement.dataset['verdict'] = verdict;
    document.title = `${title} · ${this.#title}`;
    byId('announcement').textContent = title;
  }
}

function keyText(count: number, log: LogKeys | null): string {
  const several = `${count} keys are pinned: the signature of one is enough.`;
  const signers = count === 0 ? '' : count === 1 ? 'One key is pinned.' : several;
  return log === null
    ? signers
    : `${signers} So is the log ${log.log.name}, with ${log.witnesses.length} ${log.witnesses.length === 1 ? 'witness' : 'witnesses'}.`.trim();
}

/** The typed text; undefined if there is none. */
function expected(id: string): string | undefined {
  return byId<HTMLInputElement>(id).value.trim() || undefined;
}

export function say(note: HTMLElement, text: string, state = ''): void {
  note.className = `note ${state}`;
  note.replaceChildren(text === '' ? '' : element('span', {}, text));
}
