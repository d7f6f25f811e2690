/** What the page does: it takes files and a key, and shows what they prove. The page sends nothing anywhere. */
import { printable } from '@vouchbox/protocol/vocabulary';
import { amountOf } from '@vouchbox/protocol/words';
import './page.css';
import { Checker } from './check/checker.ts';
import type { Findings } from './check/findings.ts';
import type { GraphFindings } from './check/graph-findings.ts';
import { IntakeProblem } from './intake/bounds.ts';
import { chosenFiles, droppedFiles } from './intake/dropped-files.ts';
import { type Enclosed, enclosedExport } from './intake/enclosed.ts';
import type { DroppedFile, Files } from './intake/export-files.ts';
import { Report, say } from './report.ts';
import { chainView } from './view/chain.ts';
import { checksView } from './view/checks.ts';
import { callsView, filesView, outputView } from './view/content.ts';
import { byId, element, section } from './view/element.ts';
import { damagedView, enclosedView } from './view/enclosed.ts';
import { postureView } from './view/posture.ts';
import type { ShownVerdict } from './view/verdict.ts';

type Given = Promise<readonly DroppedFile[]> | readonly DroppedFile[];

export function openPage(): void {
  new Page(enclosedExport()).listen();
  // The page may be opened from a file; the documents are then not beside it.
  byId('docs').hidden = location.pathname !== '/verify';
  document.documentElement.dataset['state'] = 'ready';
}

class Page {
  readonly #filesNote = byId('files-note');
  readonly #report = new Report({
    parts: (files, findings, verdict) => this.#parts(files, findings, verdict),
    refuse: (error) => this.#refuse(error),
  });
  /** The checker of the latest files. */
  #checker: Checker | null = null;
  /** The export that came in the page's own file. */
  readonly #enclosed: Enclosed | null;
  /** Whether the latest input is the enclosed export. */
  #isEnclosedTaken = false;

  constructor(enclosed: Enclosed | null) {
    this.#enclosed = enclosed;
  }

  listen(): void {
    if (this.#enclosed !== null) void this.#take([this.#enclosed], true);
    for (const id of ['choose-files', 'choose-directory']) {
      const input = byId<HTMLInputElement>(id);
      input.addEventListener('change', () => {
        if (input.files !== null && input.files.length > 0) void this.#take(chosenFiles(input.files));
        input.value = '';
      });
    }
    acceptDrops((transfer, isKey) => {
      const [first] = transfer.files;
      if (isKey && first !== undefined) void this.#report.takeKey(first);
      else void this.#take(droppedFiles(transfer));
    });
  }

  /** Reads the given files and shows the report. A problem is shown beside the place where the files were given. */
  async #take(given: Given, isEnclosed = false): Promise<void> {
    this.#isEnclosedTaken = isEnclosed;
    this.#checker?.stop();
    const checker = new Checker();
    this.#checker = checker;
    this.#report.clear();
    say(this.#filesNote, 'Reading …');
    try {
      const files = await checker.take(await given);
      if (checker !== this.#checker) return;
      say(this.#filesNote, amountOf(files.size, 'file'));
      await this.#report.show({ files, checker });
      document.getElementById('verdict-title')?.focus();
      byId<HTMLDetailsElement>('files-part').open = false;
      this.#report.foldKeys();
    } catch (error) {
      if (checker === this.#checker) this.#refuse(error);
    }
  }

  #refuse(error: unknown): void {
    this.#report.clear();
    byId<HTMLDetailsElement>('files-part').open = true;
    const text =
      error instanceof IntakeProblem ? printable(error.message) : 'This cannot be read: it is not an export.';
    say(this.#filesNote, text, 'problem');
    if (this.#isEnclosedTaken) this.#report.showProblem(damagedView(text));
  }

  #parts(files: Files, findings: Findings, verdict: ShownVerdict) {
    return [
      graphView(findings.graph),
      chainView(findings.chain),
      postureView(findings.receipt, verdict === 'refused'),
      callsView(findings.calls),
      outputView(findings.output),
      filesView(files, findings),
      checksView(findings),
      this.#enclosed && enclosedView(this.#enclosed),
    ];
  }
}

/** Accepts files dropped anywhere on the page. Otherwise, a browser would leave the page and open them. */
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

/** The view of a graph; null for an export of one job. */
function graphView(graph: GraphFindings | null): HTMLElement | null {
  if (graph === null) return null;
  const words = `${amountOf(graph.jobs, 'job')}. Each job was checked, and for each arrow, that both receipts have the same digest.`;
  const tree = element('pre', { tabindex: '0', role: 'region', 'aria-label': 'Jobs' }, graph.drawing.join('\n'));
  return section('graph', 'Jobs that it depends on', element('p', {}, words), tree);
}
