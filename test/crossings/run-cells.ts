/**
 * Tries cells of the matrix. First come the cells that need no event at their shared service. Then come three groups of
 * cells: about a new key, about a crash, and about a start without signing. Last, the service's data is carried to
 * other places, and the cells of these places are read again there.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { Crossing, Gathering } from './crossing.ts';
import { differenceOf, type Facts, type Seen } from './facts.ts';
import type { Feature } from './features.ts';
import type { OpenPlace, Place, ServiceName } from './place.ts';
import { PLACES, type PlaceName } from './places.ts';
import { checkRecords } from './record.ts';
import { type Act, SCENARIOS } from './scenarios.ts';
import { newDirectory, Service, type Settings } from './service.ts';
import { SERVICES } from './services.ts';

export interface Cell {
  readonly place: PlaceName;
  readonly feature: Feature;
}

/** The result of a cell. */
export interface Outcome extends Cell {
  /** Why the cell failed, in one line; null if it passed. */
  readonly problem: string | null;
  readonly seconds: number;
}

export interface Run {
  /** How many cells are tried at the same time. */
  readonly atOnce: number;
  /** The directory of the packs; null if the packs are not built. */
  readonly packs: string | null;
  readonly onOutcome: (outcome: Outcome) => void;
}

/** This bound only ends a run that hangs. */
const cellMillisecondsMax = 240_000;

/** What happens to the service in each part of a run, in this order. */
const PARTS: readonly (readonly Act[])[] = [
  ['nothing', 'cancelled', 'canaried', 'graded', 'linked', 'evidence', 'listed', 'counted', 'repeated'],
  ['key_rotated'],
  ['crash'],
  ['signing_off'],
];

export function tenantOf({ place, feature }: Cell): string {
  return `${place}--${feature}`.replaceAll('_', '-');
}

/** Tries every cell on the service that it needs, and reports the outcome of each cell. */
export async function runCells(cells: readonly Cell[], run: Run): Promise<void> {
  for (const [name, those] of Map.groupBy(cells, ({ place }) => PLACES[place].service)) {
    try {
      await runOnService(name, those, run);
    } catch (error) {
      // If a service does not start or does not stop cleanly, every cell on it has failed.
      for (const cell of those) run.onOutcome({ ...cell, problem: `the service: ${lineOf(error)}`, seconds: 0 });
    }
  }
}

/** A service, the open places for its cells, and the results so far. */
interface Stage {
  readonly service: Service;
  readonly places: ReadonlyMap<PlaceName, OpenPlace>;
  readonly run: Run;
  /** Cells that failed. They are not tried again with carried data. */
  readonly failed: Set<Cell>;
  /** How long each passed cell took. These cells are reported once they have also been read from carried data. */
  readonly seconds: Map<Cell, number>;
}

async function runOnService(name: ServiceName, cells: readonly Cell[], run: Run): Promise<void> {
  const tenants = cells.map(tenantOf);
  const settings: Settings = run.packs === null ? {} : { 'runtime-packs-dir': run.packs };
  await using undo = new AsyncDisposableStack();
  const { service } = undo.use(await SERVICES[name](tenants, settings));
  const places = new Map<PlaceName, OpenPlace>();
  for (const place of new Set(cells.map((cell) => cell.place))) places.set(place, undo.use(await PLACES[place].open()));
  const stage: Stage = { service, places, run, failed: new Set(), seconds: new Map() };
  for (const acts of PARTS) {
    await runPart(
      stage,
      cells.filter(({ feature }) => acts.includes(SCENARIOS[feature].act)),
    );
  }
  if (!service.signs) await service.restart({ 'attestation-mode': 'on' });
  for (const [place, open] of places) {
    if (open.carry === undefined) continue;
    const start = async (more: Settings, dataDir: string) => {
      const started = undo.use(
        await Service.start(tenants, { provider: 'namespace', ...settings, ...more }, { dataDir }),
      );
      started.publicKeys.unshift(...service.publicKeys);
      started.logKey = service.logKey;
      return started;
    };
    const carried = await open.carry(service, start);
    const those = cells.filter((cell) => cell.place === place);
    await inTurns(those, run.atOnce, (cell) => runCarried({ ...stage, service: carried }, open, cell));
  }
}

/** Tries the cells of one part. The service's event happens once all of these cells are ready. */
async function runPart(stage: Stage, cells: readonly Cell[]): Promise<void> {
  const [first] = cells;
  if (first === undefined) return;
  const { service, run } = stage;
  const { act } = SCENARIOS[first.feature];
  if (act === 'signing_off') await service.restart({ 'attestation-mode': 'off' });
  const happens = act === 'crash' ? () => service.crash() : act === 'key_rotated' ? () => service.rotateKey() : null;
  const gathering = happens && new Gathering(cells.length, happens);
  await inTurns(cells, gathering === null ? run.atOnce : cells.length, async (cell) => {
    const place = stage.places.get(cell.place) as OpenPlace;
    const crossing = crossingOf(stage, cell, gathering);
    const started = performance.now();
    const problem = await problemOf(crossing, cell, () => place.play(crossing));
    crossing.over();
    tell(stage, { ...cell, problem, seconds: secondsSince(started) }, place, cell);
  });
}

/** Reports a cell. If it passed and its place carries data, the report comes later, once the cell is read from that data. */
function tell({ run, failed, seconds }: Stage, outcome: Outcome, place: OpenPlace, cell: Cell): void {
  if (outcome.problem !== null) failed.add(cell);
  if (outcome.problem === null && place.carry !== undefined) seconds.set(cell, outcome.seconds);
  else run.onOutcome(outcome);
}

async function runCarried(stage: Stage, place: OpenPlace, cell: Cell): Promise<void> {
  if (stage.failed.has(cell)) return;
  const crossing = crossingOf(stage, cell, null);
  const started = performance.now();
  const problem = await problemOf(crossing, cell, () => (place.again ?? place.play)(crossing));
  const seconds = (stage.seconds.get(cell) ?? 0) + secondsSince(started);
  stage.run.onOutcome({ ...cell, problem: problem && `after it was carried: ${problem}`, seconds });
}

function crossingOf({ service }: Stage, cell: Cell, gathering: Gathering | null): Crossing {
  const { feature } = cell;
  const given = { feature, scenario: SCENARIOS[feature], service, tenant: tenantOf(cell), directory: newDirectory() };
  return new Crossing({ ...given, gathering });
}

/** Plays a cell. Returns why it failed, in one line; null if it passed. */
async function problemOf(crossing: Crossing, cell: Cell, play: () => Promise<Seen>): Promise<string | null> {
  const stop = new AbortController();
  const tooLong = pause(cellMillisecondsMax, undefined, { signal: stop.signal }).then(() => {
    throw new Error(`it took more than ${cellMillisecondsMax / 1000} s`);
  });
  tooLong.catch(() => {});
  const tried = async () => {
    const { sees } = crossing.scenario;
    const difference = differenceOf(await play(), without(sees, unseenAt(cell)), shownAt(cell));
    if (difference === null) await checkRecords(crossing);
    return difference;
  };
  try {
    return await Promise.race([tried(), tooLong]);
  } catch (error) {
    return lineOf(error);
  } finally {
    stop.abort();
  }
}

/** The facts that a place must show about a feature. For a grading, the place need not show the jobs. */
function shownAt({ place, feature }: Cell): readonly (keyof Facts)[] {
  const { essential, act } = SCENARIOS[feature];
  return act === 'graded' ? essential : [...essential, ...PLACES[place].shows];
}

/** Those facts about the cell's feature that the cell's place has no way to show. */
function unseenAt({ place, feature }: Cell): readonly (keyof Facts)[] {
  const { unseen }: Place = PLACES[place];
  return unseen?.[feature]?.facts ?? [];
}

function without(facts: Partial<Facts>, names: readonly (keyof Facts)[]): Partial<Facts> {
  return Object.fromEntries(Object.entries(facts).filter(([name]) => !names.includes(name as keyof Facts)));
}

function lineOf(error: unknown): string {
  const text =
    error instanceof SuppressedError
      ? `${lineOf(error.error)}; ${lineOf(error.suppressed)}`
      : error instanceof Error
        ? error.message
        : String(error);
  return stripVTControlCharacters(text.slice(0, 2000)).replaceAll(/\s+/g, ' ').slice(0, 600);
}

function secondsSince(started: number): number {
  return (performance.now() - started) / 1000;
}

/** Does the work for each item, `atOnce` items at a time. */
async function inTurns<Item>(items: readonly Item[], atOnce: number, work: (item: Item) => Promise<void>) {
  const waiting = items.values();
  const worker = async () => {
    for (const item of waiting) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
}
