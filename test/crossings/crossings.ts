/**
 * `npm run crossings -- [--only WORD,…]`: tries every cell of the matrix and writes docs/CROSSINGS.md. With `--only`, each
 * word names a place or a feature: a named place is tried with all its features, a named feature at all its places, and
 * the page is not written. The command exits with 1 if a cell fails.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { shippedPacks } from '../../packages/server/src/sandbox/packs/shipped-packs.fixture.ts';
import { FEATURES } from './features.ts';
import { CELLS } from './matrix.ts';
import { writePage } from './page.ts';
import { PLACE_NAMES } from './places.ts';
import { type Cell, type Outcome, runCells } from './run-cells.ts';
import { PACKS, SCENARIOS } from './scenarios.ts';
import { removeDirectories } from './service.ts';

const USAGE = `npm run crossings -- [--only WORD,…] [--at-once N]
  places:   ${PLACE_NAMES.join(', ')}
  features: ${FEATURES.join(', ')}`;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** The cells of the named places and features. If no place is named, all places count; if no feature is named, all features. */
function chosen(only: string | undefined): readonly Cell[] {
  const words = only?.split(',') ?? [];
  const known: readonly string[] = [...PLACE_NAMES, ...FEATURES];
  const unknown = words.find((word) => !known.includes(word));
  if (unknown !== undefined) throw new Error(`there is no place and no feature ${unknown}\n${USAGE}`);
  const isWanted = (names: readonly string[], name: string) =>
    words.includes(name) || !words.some((word) => names.includes(word));
  return CELLS.filter(({ place, feature }) => isWanted(PLACE_NAMES, place) && isWanted(FEATURES, feature));
}

/** The directory of the packs; null if no cell needs a pack. Missing packs are built first. */
async function packsFor(cells: readonly Cell[]): Promise<string | null> {
  if (cells.every(({ feature }) => SCENARIOS[feature].needs === undefined)) return null;
  say('building the packs, unless they are built');
  return (await shippedPacks(PACKS)).packs;
}

async function main(): Promise<void> {
  const options = {
    only: { type: 'string' },
    'at-once': { type: 'string', default: String(2 * availableParallelism()) },
    help: { type: 'boolean', default: false },
  } as const;
  const { values } = parseArgs({ options });
  if (values.help) return say(USAGE);
  const cells = chosen(values.only);
  const packs = await packsFor(cells);
  const started = performance.now();
  const outcomes: Outcome[] = [];
  const onOutcome = (outcome: Outcome) => {
    outcomes.push(outcome);
    const { place, feature, problem, seconds } = outcome;
    say(
      `${problem === null ? '✓' : '✗'} ${place.padEnd(18)} ${feature.padEnd(14)} ${seconds.toFixed(1).padStart(6)} s`,
    );
    if (problem !== null) say(`    ${problem}`);
  };
  await runCells(cells, { atOnce: Number(values['at-once']), packs, onOutcome });
  removeDirectories();
  const seconds = (performance.now() - started) / 1000;
  const held = outcomes.filter(({ problem }) => problem === null).length;
  say(`\n${held} of ${cells.length} cells hold, in ${Math.round(seconds)} s`);
  process.exitCode = held === cells.length ? 0 : 1;
  if (values.only !== undefined) return;
  const day = new Date().toISOString().slice(0, 10);
  writePage({ outcomes, day, seconds, processors: availableParallelism() });
}

await main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
});
