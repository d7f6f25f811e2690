/**
 * What one namespace cell costs without the rest of the service: how long each step takes, and the processor time of the service
 * and of the launcher with the cell. Cells are made one after the other and compared with the bare interpreter.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LIMIT_DEFAULTS } from '@vouchbox/protocol';
import { openProvider } from '../packages/server/src/sandbox/prove/preflight.ts';
import type { CellRequest, Provider } from '../packages/server/src/sandbox/sandbox.ts';
import { type Measurement, median } from './measurement.ts';
import { BARE } from './speed/bare-programs.ts';

const HELLO = { python: 'print("hello")', node: 'console.log("hello")', bash: 'echo hello' } as const;
type Greeting = keyof typeof HELLO;

/** The kinds of cells. A cell gets a copy of a running Python only if its owner asks for cells often. */
const KINDS: readonly { readonly name: string; readonly language: Greeting; readonly owner?: string }[] = [
  { name: 'python, copied', language: 'python', owner: 'bench' },
  { name: 'python, started', language: 'python' },
  { name: 'node', language: 'node' },
  { name: 'bash', language: 'bash' },
];

const CELLS = 200;
/** How many cells at the beginning do not count, because caches are cold and a launcher has yet to start. */
const UNCOUNTED = 20;
const STEPS = ['made', 'handed over', 'run and collected', 'gone'] as const;
const TICKS_PER_SECOND = 100;

export async function measure(): Promise<readonly Measurement[]> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-bench-cells-'));
  try {
    const options = { packsDirectory: null, workBytes: 64 * 2 ** 20, hostPostureSha256: () => null };
    const { provider } = await openProvider({ choice: 'namespace', instance: directory, ...options });
    await using _ = provider;
    const measurements: Measurement[] = [];
    for (const kind of KINDS) measurements.push(...(await figuresOf(provider, kind)));
    return measurements;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function figuresOf(
  provider: Provider,
  { name, language, owner }: (typeof KINDS)[number],
): Promise<Measurement[]> {
  const request: CellRequest = { language, runtime: null, ...(owner !== undefined && { owner }) };
  const bare = await repeated(() => runBare(language));
  const cells = await repeated(() => runInCell(provider, request));
  const step = (at: number) => median(cells.times.map((times) => times[at] ?? Number.NaN));
  const bareTime = { what: 'bare', value: median(bare.times.map(([time]) => time ?? Number.NaN)) };
  const row = (what: string, value: number, baseline = bareTime): Measurement => ({
    what: `${name}: ${what}`,
    value,
    unit: 'ms',
    baseline,
  });
  return [
    ...STEPS.map((what, at) => row(`${what}, p50`, step(at))),
    row('processor time of the service', cells.own, { what: 'bare, in its parent', value: bare.own }),
    row('processor time of launcher and cell', cells.others, { what: 'bare', value: bare.others }),
  ];
}

interface Repeated {
  readonly times: readonly (readonly number[])[];
  /** Processor time per cell, in milliseconds: of this process, and of its children. */
  readonly own: number;
  readonly others: number;
}

async function repeated(run: () => Promise<readonly number[]>): Promise<Repeated> {
  for (let at = 0; at < UNCOUNTED; at++) await run();
  const before = spent();
  const times: (readonly number[])[] = [];
  for (let at = 0; at < CELLS; at++) times.push(await run());
  const after = spent();
  return { times, own: (after.own - before.own) / CELLS, others: (after.others - before.others) / CELLS };
}

async function runBare(language: Greeting): Promise<readonly number[]> {
  const started = performance.now();
  const [file = '', ...words] = BARE[language];
  const child = spawn(file, words, { stdio: ['ignore', 'pipe', 'ignore'] });
  child.stdout.resume();
  await once(child, 'close');
  return [performance.now() - started];
}

/** Runs a program in a cell, and returns how long each step took, in milliseconds. */
async function runInCell(provider: Provider, request: CellRequest): Promise<readonly number[]> {
  const language = request.language as Greeting;
  const moments = [performance.now()];
  provider.noteAsked(request);
  const cell = await provider.prepare(request);
  moments.push(performance.now());
  const nothing = { stdin: null, args: [], env: {}, files: [], outputs: [] };
  const loaded = await cell.handOver({ language, code: HELLO[language], ...nothing, limits: LIMIT_DEFAULTS });
  moments.push(performance.now());
  const running = loaded.release(() => {});
  const { ending } = await running.collect();
  moments.push(performance.now());
  await cell[Symbol.asyncDispose]();
  moments.push(performance.now());
  if (ending.kind !== 'exited' || ending.exit_code !== 0) throw new Error(`a program ended: ${JSON.stringify(ending)}`);
  return moments.slice(1).map((moment, at) => moment - (moments[at] ?? Number.NaN));
}

/** Processor time until now, in milliseconds. */
function spent(): { own: number; others: number } {
  const { user, system } = process.cpuUsage();
  const living = descendantsOf('self').map((pid) => ticksOf(pid).together);
  const ticks = living.reduce((sum, each) => sum + each, ticksOf('self').children);
  return { own: (user + system) / 1000, others: (1000 * ticks) / TICKS_PER_SECOND };
}

/** All living descendants. Children are not enough: a template is a grandchild of the launcher. */
function descendantsOf(parent: string): string[] {
  const children = readdirSync(`/proc/${parent}/task`).flatMap((task) =>
    readFileSync(`/proc/${parent}/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  );
  return children.flatMap((pid) => [pid, ...descendantsOf(pid)]);
}

/** Two counts of clock ticks: of a process with the children that it has waited for, and of those children alone. */
function ticksOf(pid: string): { readonly together: number; readonly children: number } {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15).map(Number);
  return { together: user + system + childUser + childSystem, children: childUser + childSystem };
}
