/** docs/CROSSINGS.md: the results of a run through the whole matrix. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FEATURES, type Feature } from './features.ts';
import { sentenceOf } from './matrix.ts';
import type { Group, Place } from './place.ts';
import { PLACE_NAMES, PLACES, type PlaceName } from './places.ts';
import type { Outcome } from './run-cells.ts';
import { SCENARIOS } from './scenarios.ts';

const PAGE = join(import.meta.dirname, '../../docs/CROSSINGS.md');

const GROUPS: Readonly<Record<Group, string>> = {
  callers: 'Where jobs are submitted and read',
  records: 'Where records are kept and checked',
  cells: 'Where programs run',
};

export interface WholeRun {
  readonly outcomes: readonly Outcome[];
  /** The day, as YYYY-MM-DD. */
  readonly day: string;
  readonly seconds: number;
  readonly processors: number;
}

export function writePage(run: WholeRun): void {
  writeFileSync(PAGE, pageOf(run));
}

/** The text of the page. */
export function pageOf({ outcomes, day, seconds, processors }: WholeRun): string {
  const notes = new Notes();
  const mark = (place: PlaceName, feature: Feature) => markOf(outcomes, { place, feature }, notes);
  const tables = Object.entries(GROUPS).map(([group, title]) => {
    const places = PLACE_NAMES.filter((name) => PLACES[name].group === group);
    return `## ${title}\n\n${tableOf(places, mark)}`;
  });
  const held = outcomes.filter(({ problem }) => problem === null).length;
  const cannot = FEATURES.length * PLACE_NAMES.length - outcomes.length;
  const minutes = Math.max(1, Math.round(seconds / 60));
  const count = `On ${day}, ${held} of ${outcomes.length} pairs held, in ${minutes} minutes on ${processors} processors; ${cannot} cannot meet.`;
  return `${[HEAD, count, ...tables, notes.text()].join('\n\n')}\n`;
}

const HEAD = `# Where features meet places

\`npm run crossings\` writes this page. A row is a feature of a job, a column is a place where a job can be met. Each cell of the
table runs the scenario of its row through the driver of its column, on the real service with real sandboxes. What is seen
there must be what the scenario demands, at every place alike. The record of each job is then verified: its chain, its
receipt, its signature against the pinned key, and its place in the log; of two rows also its promise and the canary beside
it. \`✓\` held, \`**✗**\` did not; a number leads to a sentence below: why the two cannot meet, or, after \`✓\`, what cannot be
seen there. \`test/crossings\` has the scenarios and the drivers. \`npm test\` tries every feature over HTTP and one more at each
of the quick places, another with each \`PROPERTY_SEED\`. What is no part of a job, such as the documents at
\`/docs\`, is tried in the file that \`test/crossings/features.ts\` names.`;

/** Numbers the sentences in the page's notes. Equal sentences share one number. */
class Notes {
  readonly #sentences: string[] = [];

  numberOf(sentence: string): number {
    const known = this.#sentences.indexOf(sentence);
    return known < 0 ? this.#sentences.push(sentence) : known + 1;
  }

  text(): string {
    const lines = this.#sentences.map((sentence, index) => wrapped(`${index + 1}. `, sentence));
    return ['## Sentences', lines.join('\n')].join('\n\n');
  }
}

function tableOf(places: readonly PlaceName[], mark: (place: PlaceName, feature: Feature) => string): string {
  const rows = FEATURES.map((feature) => [SCENARIOS[feature].title, ...places.map((place) => mark(place, feature))]);
  const heads = ['', ...places.map((place) => PLACES[place].title)];
  const lines = [heads, heads.map((_, index) => (index === 0 ? '---' : ':-:')), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

interface At {
  readonly place: PlaceName;
  readonly feature: Feature;
}

function markOf(outcomes: readonly Outcome[], { place, feature }: At, notes: Notes): string {
  const sentence = sentenceOf(place, feature);
  if (sentence !== null) return String(notes.numberOf(sentence));
  const outcome = outcomes.find((one) => one.place === place && one.feature === feature);
  if (outcome === undefined) return '';
  const { unseen }: Place = PLACES[place];
  const less = unseen?.[feature];
  return `${outcome.problem === null ? '✓' : '**✗**'}${less === undefined ? '' : ` ${notes.numberOf(less.why)}`}`;
}

const columnsMax = 130;

/** A list item, wrapped into lines of limited length. */
function wrapped(head: string, text: string): string {
  const lines = [head.trimEnd()];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) as string;
    if (last.length + word.length < columnsMax) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`${' '.repeat(head.length)}${word}`);
  }
  return lines.join('\n');
}
