/** Parked cells of every class that this host has, made by the real launchers and runtimes. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Language, LIMIT_DEFAULTS, outputText } from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { PreflightOptions } from '../classes/candidate.ts';
import type { Group, GroupRoot } from '../kernel/cgroup/cgroup.ts';
import { openGroupRoot, readCgroupLayout } from '../kernel/cgroup/layout.ts';
import { instanceName, runDirectoryOf } from '../kernel/host/run-directory.ts';
import { openProvider } from '../prove/preflight.ts';
import type { PreparedCell, Program, Provider } from '../sandbox.ts';
import { ParkedCells, type ParkingProblem } from './parked-cells.ts';

const MIB = 2 ** 20;
const python = { language: 'python', runtime: null } as const;
const bash = { language: 'bash', runtime: null } as const;

const BUILDERS = {
  launcher: { choice: 'namespace', namespaceLauncher: 'fork' },
  crun: { choice: 'namespace', namespaceLauncher: 'crun' },
  runsc: { choice: 'gvisor' },
  subprocess: { choice: 'subprocess' },
} as const satisfies Record<string, Pick<PreflightOptions, 'choice' | 'namespaceLauncher'>>;

const directory = mkdtempSync(join(tmpdir(), 'svc-parked-test-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** A busy machine may take its time. */
const PATIENT = { ...LIMIT_DEFAULTS, wall_seconds: 60, cpu_seconds: 30 };

function programOf(language: Language, code: string, limits = PATIENT): Program {
  return { language, code, stdin: null, args: [], env: {}, files: [], outputs: [], limits };
}

/** Hands a program over to a cell, runs it to its end, and ends the cell. */
async function run(prepared: PreparedCell, program: Program) {
  await using cell = prepared;
  const loaded = await cell.handOver(program);
  let stdout = '';
  const running = loaded.release((stream, records) => {
    if (stream === 'stdout') for (const record of records) stdout += outputText(record);
  });
  const { ending } = await running.collect();
  return { held: loaded.held, ending, stdout, posture: cell.posture };
}

describe.each(Object.keys(BUILDERS) as (keyof typeof BUILDERS)[])('%s', (builder) => {
  const isSandboxed = builder !== 'subprocess';
  const instance = join(directory, builder);
  const problems: ParkingProblem[] = [];
  let provider: Provider;
  let parked: ParkedCells;
  let groups: GroupRoot;

  function open(bytesMax: number): ParkedCells {
    const source = { isReady: () => true, prepare: provider.prepare.bind(provider) };
    const onProblem = (problem: ParkingProblem) => problems.push(problem);
    return new ParkedCells({
      source,
      provider,
      bytesMax,
      pace: { madeAtOnce: 1, madeWhileAwaited: 0, quietMilliseconds: 0 },
      onProblem,
    });
  }

  /** Whether at least one cell of each usual language waits. There may be more, after two requests at the same time. */
  const isFull = () =>
    parked.facts().cells.size === 3 && [...parked.facts().cells.values()].every((count) => count >= 1);
  const waiting = (language: Language) => parked.facts().cells.get(language);
  const parkedGroups = (): Group[] => groups.names().map((name) => groups.open(name));

  beforeAll(async () => {
    const options = { packsDirectory: null, workBytes: 64 * MIB, hostPostureSha256: null };
    ({ provider } = await openProvider({ ...BUILDERS[builder], ...options, instance }));
    groups = openGroupRoot(readCgroupLayout(), instanceName(instance));
    parked = open(1024 * MIB);
    parked.start();
    await vi.waitFor(() => expect(isFull()).toBe(true), { timeout: 30_000 });
  }, 60_000);
  afterAll(async () => {
    await parked[Symbol.asyncDispose]();
    await provider[Symbol.asyncDispose]();
  });

  test('a parked cell gives a program the same results as a new cell', async () => {
    const cold = await run(await provider.prepare(python), programOf('python', 'print(6 * 7)'));
    const warm = await run(parked.take(python) as PreparedCell, programOf('python', 'print(6 * 7)'));
    expect(warm).toEqual(cold);
    expect(warm.stdout).toBe('42\n');
    await expect.poll(() => waiting('python')).toBeGreaterThanOrEqual(1);
  });

  test.runIf(isSandboxed)('the limits of a job are set at the hand-over, in its own group', async () => {
    const limits = { ...PATIENT, mem_mb: 77, max_pids: 9 };
    await using cell = parked.take(bash) as PreparedCell;
    const { held } = await cell.handOver(programOf('bash', '', limits));
    expect(held.effective_limits).toEqual(limits);
    const memory = parkedGroups().map(({ location }) => {
      if (location.version === 'v1') return Number(readFileSync(join(location.paths.memory, 'memory.limit_in_bytes')));
      return location.version === 'v2' ? Number(readFileSync(join(location.directory, 'memory.max'))) : 0;
    });
    // In gVisor, the group's limit also includes the runtime's own memory.
    expect(memory.filter((bytes) => bytes >= 77 * MIB && bytes < 177 * MIB)).toHaveLength(1);
  });

  test.runIf(isSandboxed)('a cell has a small share of the processors until it has a job', async () => {
    await expect.poll(isFull, { timeout: 30_000 }).toBe(true);
    const shares = () =>
      parkedGroups().flatMap(({ location }) => {
        if (location.version === 'v2') return Number(readFileSync(join(location.directory, 'cpu.weight'))) / 100;
        const cpu = location.version === 'v1' ? location.paths.cpu : null;
        return cpu === null ? [] : Number(readFileSync(join(cpu, 'cpu.shares'))) / 1024;
      });
    expect(Math.max(...shares())).toBeLessThan(0.1);
    await using cell = parked.take(bash) as PreparedCell;
    await cell.handOver(programOf('bash', ''));
    expect(shares().filter((share) => share === 1)).toHaveLength(1);
  });

  test('a parked cell that is killed is replaced, and no job gets it', async () => {
    await expect.poll(isFull, { timeout: 30_000 }).toBe(true);
    const count = [...parked.facts().cells.values()].reduce((sum, cells) => sum + cells, 0);
    const died = parked.facts().lost.died;
    const victims = isSandboxed ? parkedGroups().flatMap((group) => group.members()) : childrenOf(process.pid);
    for (const pid of victims) kill(pid);
    await expect.poll(() => parked.facts().lost.died, { timeout: 10_000 }).toBe(died + count);
    await expect.poll(isFull, { timeout: 30_000 }).toBe(true);
    expect(problems.map(({ problem }) => problem)).toContain('died');
    const { stdout } = await run(await parked.prepare(bash), programOf('bash', 'echo alive'));
    expect(stdout).toBe('alive\n');
  });

  test.runIf(builder === 'launcher')('cells end with the launcher that forked them, and are replaced', async () => {
    await expect.poll(isFull, { timeout: 30_000 }).toBe(true);
    const died = parked.facts().lost.died;
    for (const pid of childrenOf(process.pid)) kill(pid);
    await expect.poll(() => parked.facts().lost.died, { timeout: 10_000 }).toBeGreaterThanOrEqual(died + 3);
    await expect.poll(isFull, { timeout: 30_000 }).toBe(true);
  });

  test.runIf(isSandboxed && builder !== 'runsc')(
    'a cell whose interpreter alone was killed is detected, and the job gets another cell',
    async () => {
      await expect.poll(isFull, { timeout: 30_000 }).toBe(true);
      const groupsBefore = new Set(groups.names());
      await using cell = await provider.prepare({ ...bash, aheadUntil: new AbortController().signal });
      expect(cell.isWhole()).toBe(true);
      const own = groups.names().find((name) => !groupsBefore.has(name)) as string;
      kill(Math.max(...groups.open(own).members()));
      await expect.poll(() => cell.isWhole()).toBe(false);
    },
  );

  test('disposing leaves no process, group or directory of parked cells', async () => {
    await expect.poll(isFull, { timeout: 30_000 }).toBe(true);
    await parked[Symbol.asyncDispose]();
    const cells = join(runDirectoryOf(instanceName(instance)), 'cells');
    const left = isSandboxed ? [...groups.names(), ...readdirSync(cells)] : childrenOf(process.pid);
    expect([parked.facts().bytes, left]).toEqual([0, []]);
  });
});

/** The supervisors of subprocess cells. */
function childrenOf(pid: number): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {}
}
