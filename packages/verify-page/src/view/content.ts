/** The program, what it printed and what it wrote. All of this is shown as text or offered as a download, and never runs. */
import { printable, printableText } from '@vouchbox/protocol/vocabulary';
import { pictureTypeOf, sizeOf } from '@vouchbox/protocol/words';
import type { ExaminedCheck } from '@vouchbox/verifier';
import type { Findings } from '../check/findings.ts';
import type { Files } from '../intake/export-files.ts';
import { element, type Mark, mark, section } from './element.ts';

/** The most characters of a text that are shown. The download has the whole text. */
const shownCharactersMax = 60_000;
/** The most bytes that a text with so many characters can have. */
const shownBytesMax = 4 * shownCharactersMax;

export function outputView(output: Findings['output']): HTMLElement | null {
  if (output === null) return null;
  return section('output', 'What it printed', stream('stdout', output.stdout), stream('stderr', output.stderr));
}

/** The program's tool calls and the answers; null if the program called no tools. */
export function callsView({ lines, more }: Findings['calls']): HTMLElement | null {
  if (lines.length === 0) return null;
  const rest = more > 0 ? `\n… and ${more} more` : '';
  return section(
    'calls',
    'The tools that it called',
    element(
      'p',
      {},
      'What the cell asked and was told, by the numbers of the events. It says nothing of whether a tool was honest.',
    ),
    element('pre', { tabindex: '0', role: 'region', 'aria-label': 'Calls' }, `${lines.join('\n')}${rest}`),
  );
}

export function stream(name: string, content: string): HTMLElement | null {
  if (content === '' && name === 'stderr') return null;
  return element(
    'div',
    { class: 'stream' },
    element('h3', { id: `${name}-title` }, name),
    content === '' ? element('p', { class: 'empty' }, 'nothing') : block(name, content),
    content.length > shownCharactersMax ? download(`${name}.txt`, () => new TextEncoder().encode(content)) : null,
  );
}

/** A block of text. Characters that hide or move text are escaped in it. */
function block(name: string, content: string): HTMLElement {
  const isCut = content.length > shownCharactersMax;
  const shown = printableText(content.slice(0, shownCharactersMax).toWellFormed());
  const text = isCut ? `${shown}\n… and more, which the download has` : shown;
  return element('pre', { tabindex: '0', role: 'region', 'aria-label': name }, text);
}

/** The program, and every file that came with it. */
export function filesView(files: Files, findings: Findings, code = files.get('code') ?? null): HTMLElement {
  const paths = [...files.keys()].sort((one, other) => rankOf(one) - rankOf(other) || (one < other ? -1 : 1));
  return section(
    'files',
    'The files',
    code === null
      ? null
      : element(
          'details',
          {},
          element('summary', {}, 'The program'),
          block('The program', new TextDecoder().decode(code.subarray(0, shownBytesMax))),
        ),
    element('ul', { class: 'files' }, ...paths.map((path) => fileItem(path, files, findings))),
  );
}

/** The order of files: output first, then input, then evidence. */
function rankOf(path: string): number {
  return path.startsWith('output/') ? 0 : path.startsWith('input/') ? 1 : 2;
}

function fileItem(path: string, files: Files, findings: Findings): HTMLElement {
  const bytes = files.get(path) ?? new Uint8Array();
  const state = stateOf(path, findings);
  return element(
    'li',
    { class: state, 'data-path': printable(path) },
    mark(state),
    element('span', { class: 'path' }, printable(path)),
    element('span', { class: 'size' }, sizeOf(bytes.length)),
    download(fileNameOf(path), () => bytes),
    /^(in|out)put\//.test(path) ? (textOf(path, bytes) ?? (state === 'passed' ? pictureOf(path, bytes) : null)) : null,
  );
}

/** The last part of a path, as the name of a saved file. */
export function fileNameOf(path: string): string {
  return printable(path.split('/').at(-1) ?? path, 100);
}

/** A part that shows the beginning of a text once somebody opens it; null if the bytes are no text. */
function textOf(path: string, bytes: Uint8Array): HTMLElement | null {
  const beginning = bytes.subarray(0, shownBytesMax);
  if (bytes.length === 0 || beginning.includes(0)) return null;
  try {
    // A text stays valid even if the bound cuts a character in two.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(beginning, { stream: bytes.length > shownBytesMax });
    const view = element('details', {}, element('summary', {}, `Show ${fileNameOf(path)}`));
    view.addEventListener('toggle', () => view.append(block(printable(path), text)), { once: true });
    return view;
  } catch {
    return null;
  }
}

/** A file's mark. It is good if every check about the file passed. */
function stateOf(path: string, { files, program }: Findings): Mark {
  const about = [...files, ...program].filter(({ name }: ExaminedCheck) => name === path);
  if (about.some(({ state }) => state === 'failed')) return 'failed';
  return about.length === 0 ? 'not_tried' : 'passed';
}

/** A button that downloads bytes. Only a click gives them to the browser, and never with a type that the browser would open. */
export function download(name: string, bytesOf: () => BlobPart): HTMLElement {
  const button = element('button', { type: 'button', class: 'quiet', 'aria-label': `Download ${name}` }, 'Download');
  button.addEventListener('click', () => save(name, bytesOf()));
  return button;
}

export function save(name: string, bytes: BlobPart): void {
  const address = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  element('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

const pictureBytesMax = 4 * 1024 * 1024;

function pictureOf(path: string, bytes: Uint8Array<ArrayBuffer>): HTMLElement | null {
  const type = pictureTypeOf(bytes);
  if (type === null || bytes.length > pictureBytesMax) return null;
  const address = URL.createObjectURL(new Blob([bytes], { type }));
  const picture = element('img', { src: address, alt: `The picture ${printable(path)}` });
  for (const over of ['load', 'error']) picture.addEventListener(over, () => URL.revokeObjectURL(address));
  return picture;
}
