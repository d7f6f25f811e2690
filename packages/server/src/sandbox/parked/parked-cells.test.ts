import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { readyPosture, type ScriptedCell, ScriptedProvider, unready } from '../../../test/scripted-provider.ts';
import { BootstrapError, type CellRequest, type PreparedCell, type Program } from '../sandbox.ts';
import { ParkedCells, type ParkingProblem } from './parked-cells.ts';

const MIB = 2 ** 20;
const python = { language: 'python', runtime: null } as const;
const bash = { language: 'bash', runtime: null } as const;
const ruby = { language: 'ruby', runtime: null } as const;
const program = { code: '', limits: {} } as Program;

/** Makes cells of the size that a test sets. If the test sets a gate, each is made when the gate opens. */
class Source extends ScriptedProvider {
  readonly requests: CellRequest[] = [];
  bytes = 9 * MIB;
  isUp = true;
  madeOf = 'first';
  gate: () => Promise<void> = () => Promise.resolve();

  isReady(): boolean {
    return this.isUp;
  }

  /** Each owner with a template has its own kind of cells. */
  override originOf(kind: Parameters<ScriptedProvider['originOf']>[0]) {
    const origin = super.originOf(kind);
    return { kind: kind.owner === undefined ? origin.kind : `${origin.kind} ${kind.owner}`, madeOf: () => this.madeOf };
  }

  override async prepare(request: CellRequest): Promise<PreparedCell> {
    this.requests.push(request);
    await this.gate();
    const cell = (await super.prepare(request)) as ScriptedCell;
    const { bytes } = this;
    cell.memoryBytes = () => bytes;
    return cell;
  }
}

let source: Source;
let problems: ParkingProblem[];
let parked: ParkedCells;

function open(mebibytes: number, madeAtOnce = 1, quietMilliseconds = 0, madeWhileAwaited = 0): ParkedCells {
  return new ParkedCells({
    source,
    provider: source,
    bytesMax: mebibytes * MIB,
    pace: { madeAtOnce, madeWhileAwaited, quietMilliseconds },
    onProblem: (problem) => problems.push(problem),
    now: () => performance.now(),
  });
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  source = new Source();
  problems = [];
  parked = open(1000);
});
afterEach(async () => {
  vi.useRealTimers();
  await parked[Symbol.asyncDispose]();
});

/** Waits until all pending callbacks have run. */
async function settled(): Promise<void> {
  for (let round = 0; round < 20; round++) await new Promise((resolve) => setImmediate(resolve));
}

async function started(): Promise<void> {
  parked.start();
  await settled();
}

/** Releases the program, and lets its head start pass. */
async function ran(cell: PreparedCell | null): Promise<void> {
  (await cell?.handOver(program))?.release(() => {});
  vi.advanceTimersByTime(50);
}

const waiting = () => Object.fromEntries(parked.facts().cells);
const innermost = (cell: ScriptedCell | undefined) => cell as ScriptedCell;

test('one cell of each usual language is parked from the start', async () => {
  await started();
  expect(waiting()).toEqual({ python: 1, node: 1, bash: 1 });
  expect(source.requests.map(({ aheadUntil }) => aheadUntil?.aborted)).toEqual([false, false, false]);
  expect(parked.facts().bytes).toBe(30 * MIB);
});

test('a parked cell is given at once to one job, and a new one takes its place later', async () => {
  await started();
  const cell = parked.take(python) as PreparedCell;
  expect([cell.posture, parked.take(python)]).toEqual([readyPosture, null]);
  await settled();
  expect(waiting()).toEqual({ python: 0, node: 1, bash: 1 });
  await ran(cell);
  await settled();
  expect(waiting()).toEqual({ python: 1, node: 1, bash: 1 });
  expect(source.requests).toHaveLength(4);
});

test('a job whose owner has a template takes no parked cell, because a parked cell costs more to replace', async () => {
  await started();
  const owned = { ...python, owner: 'one' } as const;
  expect(parked.take(owned)).toBeNull();
  await ran(await parked.prepare(owned));
  expect(parked.facts().taken).toEqual({ parked: 0, awaited: 0, cold: 1 });
  expect(parked.take(python)).not.toBeNull();
});

test('a parked cell that was taken is replaced only after a short program has ended', async () => {
  await started();
  const loaded = await parked.take(bash)?.handOver(program);
  const running = loaded?.release(() => {});
  await settled();
  expect(waiting()).toEqual({ python: 1, node: 1, bash: 0 });
  const collected = running?.collect();
  (source.cells.at(2) as ScriptedCell).end({ kind: 'exited', exit_code: 0 });
  await collected;
  await settled();
  expect(waiting()).toEqual({ python: 1, node: 1, bash: 1 });
});

describe('if making a cell takes longer than running a short job', () => {
  const quiet = 100;
  const made = () => source.requests.length - 3;

  beforeEach(async () => {
    parked = open(1000, 1, quiet);
    source.gate = () => new Promise((resolve) => setTimeout(resolve, 200));
    parked.start();
    await vi.advanceTimersByTimeAsync(1000);
  });

  test('the last parked cell of a kind is replaced at once', async () => {
    await ran(parked.take(bash));
    await settled();
    expect(made()).toBe(1);
    await vi.advanceTimersByTimeAsync(1000);
  });

  test('a kind with several parked cells gets a new one only when no job has asked for a cell for a while', async () => {
    const cells = [parked.take(bash), parked.prepare(bash)];
    await vi.advanceTimersByTimeAsync(1000);
    for (const cell of cells) await ran(await cell);
    await vi.advanceTimersByTimeAsync(1000);
    expect(waiting()['bash']).toBe(2);
    const before = made();
    await ran(parked.take(bash));
    await settled();
    expect(made()).toBe(before);
    await vi.advanceTimersByTimeAsync(quiet);
    expect(made()).toBe(before + 1);
    await vi.advanceTimersByTimeAsync(1000);
  });
});

test('a cell that a job takes gets its whole share of the processors', async () => {
  await started();
  const { aheadUntil } = source.requests.find(({ language }) => language === 'bash') as CellRequest;
  parked.take(bash);
  expect(aheadUntil?.aborted).toBe(true);
});

test('a job that gives up its cell before its program runs makes room for a new parked cell', async () => {
  await started();
  await (parked.take(bash) as PreparedCell)[Symbol.asyncDispose]();
  await settled();
  expect([waiting(), source.cells.filter(({ disposed }) => disposed).length]).toEqual([
    { python: 1, node: 1, bash: 1 },
    1,
  ]);
});

test('jobs get new cells if there is no memory for parked ones', async () => {
  parked = open(0);
  await started();
  expect([source.cells.length, parked.take(bash)]).toEqual([0, null]);
  const cell = await parked.prepare(bash);
  expect(cell).toBe(source.cells[0]);
  await settled();
  expect(source.cells).toHaveLength(1);
});

test('a job without a parked cell gets a new cell, and no cell for parking is begun meanwhile', async () => {
  await started();
  const gate = Promise.withResolvers<void>();
  source.gate = () => gate.promise;
  const prepared = parked.prepare(ruby);
  await ran(parked.take(bash));
  await settled();
  expect(source.requests.slice(3)).toEqual([ruby]);
  gate.resolve();
  await prepared;
  await settled();
  expect(waiting()).toEqual({ python: 1, node: 1, bash: 1, ruby: 1 });
});

test('a job takes the cell of its kind that is being made, and the cell gets its whole share', async () => {
  const gate = Promise.withResolvers<void>();
  source.gate = () => gate.promise;
  await started();
  const { language, aheadUntil } = source.requests[0] as CellRequest;
  const prepared = parked.prepare({ language, runtime: null });
  expect([source.requests.length, aheadUntil?.aborted]).toEqual([1, true]);
  gate.resolve();
  const cell = await prepared;
  expect([cell.language, parked.facts().taken]).toEqual([language, { parked: 0, awaited: 1, cold: 0 }]);
});

test('if the cell that a job waits for cannot be made, the job gets another cell', async () => {
  const gate = Promise.withResolvers<void>();
  source.gate = () => gate.promise;
  source.failOnce(new BootstrapError('start', 'no luck', unready));
  await started();
  const prepared = parked.prepare({ language: source.requests[0]?.language ?? 'bash', runtime: null });
  gate.resolve();
  expect((await prepared).posture).toEqual(readyPosture);
  expect(parked.facts().taken).toEqual({ parked: 0, awaited: 0, cold: 1 });
});

test('a job waits ten seconds for the cell that is already being made, and then gets another cell', async () => {
  const gate = Promise.withResolvers<void>();
  source.gate = () => gate.promise;
  await started();
  const prepared = parked.prepare({ language: source.requests[0]?.language ?? 'bash', runtime: null });
  source.gate = () => Promise.resolve();
  await vi.advanceTimersByTimeAsync(10_001);
  await (await prepared).handOver(program);
  gate.resolve();
  await settled();
  expect(source.cells.slice(0, 2).map((cell) => [cell.program !== null, cell.disposed])).toEqual([
    [true, false],
    [false, true],
  ]);
});

test('a parked cell that dies is replaced after a pause, and never given to a job', async () => {
  await started();
  await innermost(source.cells.find(({ language }) => language === 'bash'))[Symbol.asyncDispose]();
  await settled();
  expect([waiting()['bash'], parked.take(bash)]).toEqual([0, null]);
  await vi.advanceTimersByTimeAsync(260);
  await settled();
  expect([waiting()['bash'], problems.map(({ problem }) => problem), parked.facts().lost.died]).toEqual([
    1,
    ['died'],
    1,
  ]);
});

test('a cell that dies when it becomes ready is removed and replaced', async () => {
  const prepare = source.prepare.bind(source);
  source.prepare = async (request) => {
    source.prepare = prepare;
    const cell = (await source.prepare(request)) as ScriptedCell;
    cell.memoryBytes = () => {
      throw new Error('its group is gone');
    };
    setImmediate(() => void cell[Symbol.asyncDispose]());
    return cell;
  };
  await started();
  await vi.advanceTimersByTimeAsync(260);
  await settled();
  expect([waiting(), parked.facts().lost.died]).toEqual([{ python: 1, node: 1, bash: 1 }, 1]);
});

test('a parked cell that lost a part is not given to the job that asks for it', async () => {
  await started();
  innermost(source.cells.find(({ language }) => language === 'bash')).isWhole = () => false;
  expect(parked.take(bash)).toBeNull();
  expect(parked.facts().lost.died).toBe(1);
});

test('a cell of a changed runtime is not given to a job', async () => {
  await started();
  source.madeOf = 'second';
  expect(parked.take(python)).toBeNull();
  const cell = await parked.prepare(python);
  await ran(cell);
  await settled();
  expect([parked.facts().lost.changed, waiting()['python']]).toEqual([1, 1]);
  expect(parked.take(python)).not.toBeNull();
});

test('a parked cell that fails when it gets its program is removed, and the job gets another cell', async () => {
  await started();
  const [first] = source.cells.filter(({ language }) => language === 'bash');
  innermost(first).handOver = () => Promise.reject(new BootstrapError('limits', 'it died just now', unready));
  const cell = await parked.prepare(bash);
  const { held } = await cell.handOver(program);
  expect([held.limit_enforcement.wall_seconds, first?.disposed, source.cells.length]).toEqual([true, true, 4]);
  expect(problems.map(({ problem }) => problem)).toEqual(['not_handed_over']);
});

test('a cell that was taken at once and fails when it gets its program is removed, and the job may ask again', async () => {
  await started();
  const [first] = source.cells.filter(({ language }) => language === 'bash');
  innermost(first).handOver = () => Promise.reject(new BootstrapError('limits', 'it died just now', unready));
  await expect((parked.take(bash) as PreparedCell).handOver(program)).rejects.toThrow('it died just now');
  expect([first?.disposed, source.cells.length, problems.length]).toEqual([true, 3, 1]);
});

test('the largest demand within the last minute decides how many cells of a kind are parked', async () => {
  parked = open(1000, 4);
  source.gate = () => new Promise((resolve) => setTimeout(resolve, 100));
  parked.start();
  await vi.advanceTimersByTimeAsync(1000);
  await settled();
  const burst = [1, 2, 3, 4, 5].map(() => parked.prepare(bash));
  await vi.advanceTimersByTimeAsync(200);
  for (const cell of burst) await ran(await cell);
  await vi.advanceTimersByTimeAsync(1000);
  await settled();
  expect(waiting()).toEqual({ python: 1, node: 1, bash: 5 });
  await vi.advanceTimersByTimeAsync(60_000);
  await settled();
  expect(waiting()).toEqual({ python: 1, node: 1, bash: 1 });
  expect(parked.facts().lost.surplus).toBe(4);
});

test('parked cells of an unusual language are removed if no job used the language for ten minutes', async () => {
  await started();
  await ran(await parked.prepare(ruby));
  await settled();
  expect(waiting()['ruby']).toBe(1);
  await vi.advanceTimersByTimeAsync(600_001);
  await settled();
  expect(waiting()).toEqual({ python: 1, node: 1, bash: 1, ruby: 0 });
});

test('the memory of parked cells stays within its bound, and the most requested languages come first', async () => {
  parked = open(20);
  await started();
  expect(Object.values(waiting()).reduce((sum, count) => sum + count, 0)).toBe(2);
  for (const kind of [ruby, ruby, bash]) await ran(await parked.prepare(kind));
  await settled();
  expect(waiting()).toEqual({ python: 0, node: 0, bash: 1, ruby: 1 });
  expect(parked.facts().bytes).toBe(20 * MIB);
});

test('a cell larger than the bound is not parked, is reported once and is not made again', async () => {
  source.bytes = 40 * MIB;
  parked = open(20);
  await started();
  for (let round = 0; round < 3; round++) await ran(await parked.prepare(bash));
  await vi.advanceTimersByTimeAsync(120_000);
  await settled();
  expect(Object.values(waiting())).toEqual([0, 0, 0]);
  expect(problems.map(({ problem }) => problem)).toEqual(['too_large', 'too_large', 'too_large']);
  expect(source.requests).toHaveLength(6);
});

test('a parked cell that cannot be made is tried again after doubling pauses, and reported once', async () => {
  source.script = () => {
    throw new BootstrapError('start', 'broken', unready);
  };
  await started();
  const counts: number[] = [];
  for (let second = 0; second < 4; second++) {
    counts.push(source.requests.filter(({ language }) => language === 'bash').length);
    await vi.advanceTimersByTimeAsync(1000);
    await settled();
  }
  expect(counts).toEqual([1, 3, 4, 4]);
  expect(problems.filter(({ language }) => language === 'bash').map(({ problem }) => problem)).toEqual(['not_made']);
});

test('no cell is made for parking until the provider is ready', async () => {
  source.isUp = false;
  await started();
  expect(source.requests).toEqual([]);
  source.isUp = true;
  parked.refill();
  await settled();
  expect(waiting()).toEqual({ python: 1, node: 1, bash: 1 });
});

test('a disposal removes all parked cells, even those being made, and jobs still get cells', async () => {
  const gate = Promise.withResolvers<void>();
  await started();
  source.gate = () => gate.promise;
  await ran(parked.take(bash));
  await settled();
  const disposed = parked[Symbol.asyncDispose]();
  gate.resolve();
  await disposed;
  const [bashCell, ...others] = source.cells.toSorted((a, b) => Number(a.disposed) - Number(b.disposed));
  expect([bashCell?.disposed, others.map((cell) => cell.disposed)]).toEqual([false, [true, true, true]]);
  expect(parked.take(bash)).toBeNull();
  expect((await parked.prepare(bash)).posture).toEqual(readyPosture);
  await settled();
  expect(waiting()).toEqual({ python: 0, node: 0, bash: 0 });
});

test('a job whose pack is missing gets no parked cell, and asks for a new one', async () => {
  source.originOf = () => null as never;
  await started();
  expect(parked.take(bash)).toBeNull();
  expect(await parked.prepare(bash)).toBe(source.cells[0]);
});
