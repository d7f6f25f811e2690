/** The page takes the secret out of the address, reads what the link shows, and checks the signature itself. */
import './page.css';
import { EXPORT_FILES } from '@vouchbox/evidence';
import type { LinkedJob } from '@vouchbox/protocol';
import { isTerminal } from '@vouchbox/protocol/vocabulary';
import {
  byId,
  Checker,
  checksView,
  element,
  type Files,
  type Findings,
  filesView,
  IntakeProblem,
  postureView,
  Report,
  type ShownVerdict,
} from '@vouchbox/verify-page';
import { type LinkedResult, LinkFailure, LinkReader } from './read-link.ts';
import { takeSecret } from './secret.ts';
import {
  elsewhereView,
  factsView,
  givenView,
  goneView,
  laterView,
  noSecretView,
  printedView,
  statedSigner,
  troubleView,
  waitingView,
} from './views.ts';

/** Milliseconds between two requests for a job that has not ended. */
const lookMilliseconds = 3000;
/**
 * How often the page looks for a signature after the job has ended. Each pause is twice as long as the previous one. Most
 * signatures are there a moment after the job's end.
 */
const signingLooksMax = 8;

export function openPage(): void {
  // If a link is pasted over another one to the same job, only the part after the `#` changes.
  addEventListener('hashchange', () => location.reload());
  const secret = takeSecret();
  if (secret === null) showState(noSecretView());
  else void new Page(new LinkReader(secret)).open();
}

class Page {
  readonly #reader: LinkReader;
  readonly #report = new Report({
    parts: (files, findings, verdict) => this.#parts(files, findings, verdict),
    refuse: (error) => this.#refuse(error),
  });
  #checker: Checker | null = null;
  /** The job and its result; null before the job has ended. */
  #given: { readonly job: LinkedJob; readonly result: LinkedResult } | null = null;
  /** Whether the job and its result were checked and are shown. */
  #isShown = false;

  constructor(reader: LinkReader) {
    this.#reader = reader;
  }

  async open(): Promise<void> {
    showState(element('p', { class: 'note' }, 'Reading …'));
    try {
      await this.#follow();
    } catch (error) {
      // The page keeps showing what it has read, even if the link ends.
      if (!this.#isShown) this.#refuse(error);
    }
  }

  /** Requests the job until it has ended, and then a few more times until its signature is there. */
  async #follow(): Promise<void> {
    for (let signingLooks = 0; signingLooks < signingLooksMax; ) {
      const job = await this.#reader.job();
      const hasEnded = isTerminal(job.status);
      if (!hasEnded) showState(waitingView(job));
      else if (!this.#isShown || job.attestation_available) await this.#show(job);
      if (job.attestation_available) return;
      await pause(lookMilliseconds * 2 ** signingLooks);
      if (hasEnded) signingLooks++;
    }
  }

  async #show(job: LinkedJob): Promise<void> {
    const result = await this.#reader.result(job);
    this.#checker?.stop();
    this.#checker = new Checker();
    const checker = this.#checker;
    const files = await checker.takeNamed(result.files);
    this.#given = { job, result };
    this.#showSigner(statedSigner(files.get(EXPORT_FILES.envelope)));
    showState();
    this.#isShown = false;
    await this.#report.show({ files, checker });
    this.#isShown = true;
  }

  #parts(files: Files, findings: Findings, verdict: ShownVerdict): readonly (HTMLElement | null)[] {
    if (this.#given === null) return [];
    const { job, result } = this.#given;
    return [
      printedView(result.printed),
      postureView(findings.receipt, verdict === 'refused'),
      givenView(job),
      factsView(job),
      files.size === 0 ? null : filesView(files, findings, null),
      laterView(result.later, (file) => this.#reader.file(file)),
      files.has(EXPORT_FILES.envelope) ? elsewhereView(job) : null,
      checksView(findings),
    ];
  }

  /** Shows the signer that the signature names. Without a signature, no key can be checked, so the form for keys is hidden. */
  #showSigner(signer: string | null): void {
    byId('signer').replaceChildren('The signature names the key ', element('code', {}, signer ?? ''), '.');
    for (const id of ['signer', 'given']) byId(id).hidden = signer === null;
  }

  #refuse(error: unknown): void {
    this.#report.clear();
    this.#showSigner(null);
    const isGone = error instanceof LinkFailure && error.kind === 'gone';
    const isTold = error instanceof LinkFailure || error instanceof IntakeProblem;
    const text = isTold ? error.message : "The service's answer cannot be shown.";
    showState(isGone ? goneView() : troubleView(text, () => void this.open()));
  }
}

/** Shows a message in place of a report, or clears it. Screen readers announce the title of the message. */
function showState(...views: readonly HTMLElement[]): void {
  byId('state').replaceChildren(...views);
  const [title] = document.querySelectorAll('#state h2');
  if (title !== undefined) byId('announcement').textContent = title.textContent;
}

/** Pauses for this time, and then for as long as the page is hidden, because a hidden page requests nothing. */
async function pause(milliseconds: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  while (document.hidden)
    await new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }));
}
