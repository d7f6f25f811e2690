/** The page's work: it takes files and a key, and shows what they prove. It sends nothing anywhere. */
import './page.css';
import { EXPORT_FILES, type LogKeys } from '@vouchbox/evidence';
import { canVerifySignatures } from '@vouchbox/verifier';
import { Checker } from './check/checker.ts';
import type { Findings } from './check/findings.ts';
import { IntakeProblem } from './intake/bounds.ts';
import { chosenFiles, droppedFiles } from './intake/dropped-files.ts';
import { type Enclosed, enclosedExport } from './intake/enclosed.ts';
import type { DroppedFile, Files } from './intake/export-files.ts';
import { type PinnedKeys, pinnedKeysIn } from './intake/pinned-keys.ts';
import { chainView } from './view/chain.ts';
import { checksView } from './view/checks.ts';
import { callsView, filesView, outputView } from './view/content.ts';
import { byId, element } from './view/element.ts';
import { enclosedView } from './view/enclosed.ts';
import { graphView } from './view/graph.ts';
import { postureView } from './view/posture.ts';
import { shownVerdict, verdictTitle, verdictView } from './view/verdict.ts';

/** A key has a few hundred bytes; several have a few thousand. */
const keyCharactersMax = 64 * 1024;

type Given = Promise<readonly DroppedFile[]> | readonly DroppedFile[];

/** An export that was read, and who checks it. */
interface Taken {
  readonly files: Files;
  readonly checker: Checker;
}

export function openPage(): void {
  new Page(enclosedExport()).listen();
  // The page lies in files too, where no documents are beside it.
  byId('docs').hidden = location.pathname !== '/verify';
  document.documentElement.dataset['state'] = 'ready';
}

class Page {
  readonly #key = byId<HTMLTextAreaElement>('key');
  readonly #keyNote = byId('key-note');
  readonly #filesNote = byId('files-note');
  readonly #report = byId('report');
  readonly #findings = byId('findings');
  readonly #title = document.title;
  #taken: Taken | null = null;
  /** Reads the files that were given last. */
  #checker: Checker | null = null;
  /** The export that came in the page's own file. */
  readonly #enclosed: Enclosed | null;
  /** The number of the latest examination. An earlier one that ends later is not shown. */
  #turn = 0;

  constructor(enclosed: Enclosed | null) {
    this.#enclosed = enclosed;
  }

  listen(): void {
    if (this.#enclosed !== null) void this.#take([this.#enclosed]);
    for (const id of ['choose-files', 'choose-directory']) {
      const input = byId<HTMLInputElement>(id);
      input.addEventListener('change', () => {
        if (input.files !== null && input.files.length > 0) void this.#take(chosenFiles(input.files));
        input.value = '';
      });
    }
    byId<HTMLInputElement>('choose-key').addEventListener('change', ({ target }) => {
      const [file] = (target as HTMLInputElement).files ?? [];
      if (file !== undefined) void this.#takeKey(file);
    });
    const examine = () => void this.#examine().catch((error: unknown) => this.#refuse(error));
    for (const id of ['key', 'tenant', 'job']) byId(id).addEventListener('input', examine);
    acceptDrops((transfer, isKey) => {
      const [first] = transfer.files;
      if (isKey && first !== undefined) void this.#takeKey(first);
      else void this.#take(droppedFiles(transfer));
    });
  }

  /** Reads what was given and shows it; a problem is said beside where it was given. */
  async #take(given: Given): Promise<void> {
    const own = ++this.#turn;
    this.#checker?.stop();
    const checker = new Checker();
    this.#checker = checker;
    this.#taken = null;
    this.#clear();
    say(this.#filesNote, 'Reading …');
    try {
      const files = await checker.take(await given);
      if (own !== this.#turn) return;
      this.#taken = { files, checker };
      say(this.#filesNote, `${files.size} ${files.size === 1 ? 'file' : 'files'}`);
      await this.#examine();
      document.getElementById('verdict-title')?.focus();
      this.#fold();
    } catch (error) {
      if (checker === this.#checker) this.#refuse(error);
    }
  }

  async #takeKey(file: File): Promise<void> {
    this.#key.value = (await file.slice(0, keyCharactersMax).text()).trim();
    await this.#examine().catch((error: unknown) => this.#refuse(error));
    this.#fold();
  }

  #refuse(error: unknown): void {
    this.#taken = null;
    this.#clear();
    document.title = this.#title;
    byId<HTMLDetailsElement>('files-part').open = true;
    const text = error instanceof IntakeProblem ? error.message : 'This cannot be read: it is not an export.';
    say(this.#filesNote, text, 'problem');
  }

  #clear(): void {
    this.#report.replaceChildren();
    this.#findings.replaceChildren();
    this.#report.removeAttribute('aria-busy');
    delete document.documentElement.dataset['verdict'];
  }

  /** Makes every check anew. A key alone is checked too, so that its problem shows early. */
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
    // While a check runs, only the newest input is kept for the next one.
    if (own !== this.#turn) return;
    const findings = await taken.checker.examine({
      publicKeys: pems,
      log,
      canVerify: await canVerifySignatures(),
      tenant: expected('tenant'),
      job: expected('job'),
    });
    if (own === this.#turn) this.#show(taken.files, findings, keys);
  }

  /** Once there is a verdict, only what could change it stays open: the part for the key as long as none is taken. */
  #fold(): void {
    if (this.#taken === null) return;
    byId<HTMLDetailsElement>('files-part').open = false;
    byId<HTMLDetailsElement>('key-part').open =
      this.#keyNote.textContent === '' || this.#keyNote.classList.contains('problem');
  }

  #pinnedKeys(taken: Taken | null): PinnedKeys {
    const enclosed = taken?.files.get(EXPORT_FILES.publicKey);
    const pem = enclosed === undefined ? null : new TextDecoder('utf-8', { ignoreBOM: true }).decode(enclosed);
    const isKeyEarly = taken === null && /^\s*sha256:/.test(this.#key.value);
    return pinnedKeysIn(isKeyEarly ? '' : this.#key.value.slice(0, keyCharactersMax), pem);
  }

  #show(files: Files, findings: Findings, keys: PinnedKeys): void {
    this.#report.removeAttribute('aria-busy');
    const verdict = shownVerdict(findings, keys);
    const parts = [
      graphView(findings.graph),
      chainView(findings.chain),
      postureView(findings.receipt, verdict === 'refused'),
      callsView(findings.calls),
      outputView(findings.output),
      filesView(files, findings),
      checksView(findings),
      this.#enclosed && enclosedView(this.#enclosed),
    ];
    this.#report.replaceChildren(verdictView(findings, verdict, keys.problem));
    this.#findings.replaceChildren(...parts.filter((part) => part !== null));
    const title = verdictTitle(verdict);
    document.documentElement.dataset['verdict'] = verdict;
    document.title = `${title} · ${this.#title}`;
    byId('announcement').textContent = title;
  }
}

function keyText(count: number, log: LogKeys | null): string {
  const several = `${count} keys are pinned: one that signed is enough.`;
  const signers = count === 0 ? '' : count === 1 ? 'One key is pinned.' : several;
  return log === null
    ? signers
    : `${signers} So is the log ${log.log.name}, with ${log.witnesses.length} ${log.witnesses.length === 1 ? 'witness' : 'witnesses'}.`.trim();
}

/** The typed text; undefined if there is none. */
function expected(id: string): string | undefined {
  return byId<HTMLInputElement>(id).value.trim() || undefined;
}

function say(note: HTMLElement, text: string, state = ''): void {
  note.className = `note ${state}`;
  note.replaceChildren(text === '' ? '' : element('span', {}, text));
}

/** Files may be dropped anywhere: a browser would otherwise leave the page and open them. */
function acceptDrops(onDrop: (transfer: DataTransfer, isKey: boolean) => void): void {
  const { body } = document;
  document.addEventListener('dragover', (event) => {
    event.preventDefault();
    body.classList.add('dragging');
  });
  document.addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) body.classList.remove('dragging');
  });
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    body.classList.remove('dragging');
    if (event.dataTransfer === null) return;
    onDrop(event.dataTransfer, event.target instanceof Node && byId('key-part').contains(event.target));
  });
}
