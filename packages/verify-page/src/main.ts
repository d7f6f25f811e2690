/** What the page does: it takes files and a key, and shows what they prove. It sends nothing anywhere. */
import './page.css';
import { EXPORT_FILES } from '@vouchbox/evidence';
import { canVerifySignatures, examineExport } from '@vouchbox/verifier';
import { IntakeProblem } from './intake/bounds.ts';
import { chosenFiles, droppedFiles } from './intake/dropped-files.ts';
import { type DroppedFile, exportFilesOf, type Files } from './intake/export-files.ts';
import { pinnedKeysIn } from './intake/pinned-keys.ts';
import { chainView } from './view/chain.ts';
import { checksView } from './view/checks.ts';
import { filesView, outputView } from './view/content.ts';
import { byId, element } from './view/element.ts';
import { postureView } from './view/posture.ts';
import { verdictTitle, verdictView } from './view/verdict.ts';

const key = byId<HTMLTextAreaElement>('key');
const keyNote = byId('key-note');
const filesNote = byId('files-note');
const report = byId('report');
const pageTitle = document.title;

/** A key has a few hundred bytes; several have a few thousand. */
const keyCharactersMax = 64 * 1024;

let files: Files | null = null;
/** The number of the latest examination. An earlier one that ends later is not shown. */
let turn = 0;

/** Reads what was given and shows it; a problem is said beside where it was given. */
async function take(given: Promise<readonly DroppedFile[]> | readonly DroppedFile[]): Promise<void> {
  const own = ++turn;
  report.replaceChildren();
  say(filesNote, 'Reading …');
  try {
    const read = await exportFilesOf(await given);
    if (own !== turn) return;
    files = read;
    say(filesNote, `${read.size} ${read.size === 1 ? 'file' : 'files'}`);
    await examine();
    byId('verdict-title').focus();
  } catch (error) {
    refuse(error);
  }
}

function refuse(error: unknown): void {
  files = null;
  report.replaceChildren();
  report.removeAttribute('aria-busy');
  document.title = pageTitle;
  const text = error instanceof IntakeProblem ? error.message : 'This cannot be read: it is not an export.';
  say(filesNote, text, 'problem');
}

/** Makes every check anew. A key alone is checked too, so that its problem shows early. */
async function examine(): Promise<void> {
  const own = ++turn;
  const enclosed = files?.get(EXPORT_FILES.publicKey);
  const pem = enclosed === undefined ? null : new TextDecoder('utf-8', { ignoreBOM: true }).decode(enclosed);
  const isKeyEarly = files === null && /^\s*sha256:/.test(key.value);
  const { pems, problem } = isKeyEarly
    ? { pems: [], problem: null }
    : pinnedKeysIn(key.value.slice(0, keyCharactersMax), pem);
  say(keyNote, problem ?? keyText(pems.length), problem === null ? '' : 'problem');
  if (files === null) return;
  report.setAttribute('aria-busy', 'true');
  await drawn();
  const examination = await examineExport(files, {
    publicKeys: pems,
    canVerify: await canVerifySignatures(),
    tenant: expected('tenant'),
    job: expected('job'),
  });
  if (own !== turn) return;
  report.removeAttribute('aria-busy');
  const parts = [
    verdictView(examination, problem),
    chainView(examination),
    postureView(examination.receipt),
    outputView(examination),
    filesView(files, examination),
    checksView(examination),
  ];
  report.replaceChildren(...parts.filter((part) => part !== null));
  const title = verdictTitle(problem === null ? examination.verdict : 'refused');
  document.title = `${title} · ${pageTitle}`;
  byId('announcement').textContent = title;
}

function keyText(count: number): string {
  if (count === 0) return '';
  return count === 1 ? 'One key is pinned.' : `${count} keys are pinned: one that signed is enough.`;
}

/** What was typed; undefined for nothing. */
function expected(id: string): string | undefined {
  return byId<HTMLInputElement>(id).value.trim() || undefined;
}

function say(note: HTMLElement, text: string, state = ''): void {
  note.className = `note ${state}`;
  note.replaceChildren(text === '' ? '' : element('span', {}, text));
}

/** Lets the browser show what was said before the checks keep it busy. */
function drawn(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 20);
  });
}

/** Files may be dropped anywhere: a browser would otherwise leave the page and open them. */
function acceptDrops(): void {
  const body = document.body;
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
    const isKey = event.target instanceof Node && byId('key-part').contains(event.target);
    const [first] = event.dataTransfer.files;
    if (isKey && first !== undefined) void takeKey(first);
    else void take(droppedFiles(event.dataTransfer));
  });
}

async function takeKey(file: File): Promise<void> {
  key.value = (await file.slice(0, keyCharactersMax).text()).trim();
  await examine().catch(refuse);
}

function listen(): void {
  for (const id of ['choose-files', 'choose-directory']) {
    const input = byId<HTMLInputElement>(id);
    input.addEventListener('change', () => {
      if (input.files !== null && input.files.length > 0) void take(chosenFiles(input.files));
      input.value = '';
    });
  }
  byId<HTMLInputElement>('choose-key').addEventListener('change', ({ target }) => {
    const [file] = (target as HTMLInputElement).files ?? [];
    if (file !== undefined) void takeKey(file);
  });
  for (const id of ['key', 'tenant', 'job']) byId(id).addEventListener('input', () => void examine().catch(refuse));
  acceptDrops();
}

listen();
document.documentElement.dataset['state'] = 'ready';
