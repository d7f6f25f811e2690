/**
 * The target of attacks: a real provider for one class, opened as the service opens it, on a host with planted secrets. It
 * runs attacks in cells, and reads from the kernel which of the host's processes belong to which cell.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Language, LIMIT_DEFAULTS, type OutputRecord, outputText } from '@vouchbox/protocol';
import { hasOneUser } from '../../packages/server/src/sandbox/kernel/user-namespace/mapped-users.ts';
import { openProvider } from '../../packages/server/src/sandbox/prove/preflight.ts';
import type {
  Posture,
  PreparedCell,
  Program,
  Provider,
  RunningCell,
} from '../../packages/server/src/sandbox/sandbox.ts';
import { groupNames } from './host-groups.ts';
import type { Attack, HostileClass, Seen } from './hostile-case.ts';
import { gvisorStarter, namespaceLauncher } from './launchers.ts';
import { Preparing } from './preparing.ts';
import { PATIENCE } from './size.ts';

/** The most that a job can write below `/work` here, in bytes. */
export const WORK_BYTES = 24 * 1024 * 1024;
/** Limits for cases that do not test these limits. Even on a busy machine, they are too large to end the program. */
const PATIENT = { wall_seconds: 60 * PATIENCE, cpu_seconds: 30 * PATIENCE };
const AHEAD_MILLISECONDS_MAX = 60_000 * PATIENCE;
const LANGUAGE_BY_ENDING: Readonly<Record<string, Language>> = { py: 'python', cjs: 'node', sh: 'bash' };

/** A program that was released and has not been collected yet. */
export interface Running {
  /** The name of the cell's control group on the host. */
  readonly group: string;
  readonly posture: Posture;
  readonly run: RunningCell;
  readonly seen: Promise<Seen>;
  /** Resolves once the program's recorded output contains this text. */
  readonly said: (text: string) => Promise<void>;
  /** The standard output recorded so far. */
  readonly output: () => string;
}

export class Target implements AsyncDisposable {
  readonly hostileClass: HostileClass;
  readonly provider: Provider;
  /** A secret that is in a file in the data directory and in the environment of this process, but in no shared place. */
  readonly canary: string;
  readonly dataDirectory: string;
  /** Whether programs run as the service's own user. */
  readonly hasOneUser = hasOneUser();
  readonly #shared = new Map<Attack, Promise<Seen>>();
  readonly #preparing = new Preparing();

  private constructor(hostileClass: HostileClass, provider: Provider, planted: { canary: string; directory: string }) {
    this.hostileClass = hostileClass;
    this.provider = provider;
    this.canary = planted.canary;
    this.dataDirectory = planted.directory;
  }

  /** Opens the provider. Rejects if the class cannot be used on this host: a suite that tries nothing must not pass. */
  static async open(hostileClass: HostileClass): Promise<Target> {
    const canary = `canary-${randomBytes(16).toString('hex')}`;
    const directory = mkdtempSync(join(tmpdir(), 'svc-hostile-'));
    for (const name of ['svc.db', 'signing-key.pem'])
      writeFileSync(join(directory, name), `${canary}\n`, { mode: 0o644 });
    process.env['SECRET_HOST_ENV'] = canary;
    const { provider } = await openProvider({
      choice: hostileClass,
      namespaceLauncher: namespaceLauncher(),
      gvisorStarter: gvisorStarter(),
      instance: directory,
      packsDirectory: null,
      workBytes: WORK_BYTES,
      hostPostureSha256: null,
    });
    return new Target(hostileClass, provider, { canary, directory });
  }

  /** Runs an attack to its end. */
  attack(attack: Attack): Promise<Seen> {
    if (attack.runs !== 'once') return this.#run(attack);
    const shared = this.#shared.get(attack) ?? this.#run(attack);
    this.#shared.set(attack, shared);
    return shared;
  }

  /** Runs attacks side by side, each to its end. */
  attackAll(attacks: readonly Attack[]): Promise<Seen[]> {
    return Promise.all(attacks.map((attack) => this.attack(attack)));
  }

  /** Starts an attack and returns while it runs. The cell is disposed once the program has been collected. */
  async start(attack: Attack): Promise<Running> {
    const program = programOf(attack);
    const { cell, group } = await this.#prepareAlone(program.language);
    return { group, ...(await letGo(cell, program)) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.provider[Symbol.asyncDispose]();
    rmSync(this.dataDirectory, { recursive: true, force: true });
  }

  async #run(attack: Attack): Promise<Seen> {
    const program = programOf(attack);
    const cell = await this.#preparing.together(() => this.#prepare(program.language));
    return await (await letGo(cell, program)).seen;
  }

  /** Prepares a cell. Under crun, the cell is for a waiting job. Otherwise it is a parked cell, complete before its job comes. */
  async #prepare(language: Language): Promise<PreparedCell> {
    const request = { language, runtime: null };
    if (this.hostileClass === 'namespace' && namespaceLauncher() === 'crun')
      return await this.provider.prepare(request);
    const wanted = new AbortController();
    // A cell that is made ahead of time gets only a small share of the processors. On a busy machine, it may take long.
    const ahead = { aheadUntil: wanted.signal, readyMilliseconds: AHEAD_MILLISECONDS_MAX };
    // If the cell is not ready after a while, it is no longer made ahead of time, as if its job had come.
    const job = setTimeout(() => wanted.abort(), AHEAD_MILLISECONDS_MAX / 30);
    const cell = await this.provider.prepare({ ...request, ...ahead }).finally(() => clearTimeout(job));
    assert.ok(cell.isWhole(), 'a cell that was made ahead is not whole');
    wanted.abort();
    return cell;
  }

  /** Prepares this cell while no other is prepared, so that a group that appears meanwhile belongs to this cell. */
  #prepareAlone(language: Language): Promise<{ cell: PreparedCell; group: string }> {
    return this.#preparing.alone(async () => {
      const before = new Set(groupNames(this.dataDirectory));
      const cell = await this.#prepare(language);
      const group = groupNames(this.dataDirectory).find((name) => !before.has(name));
      if (group === undefined) throw new Error('a cell was prepared and no control group appeared');
      return { cell, group };
    });
  }
}

/** Hands a program over and releases it. The cell is disposed once the program is collected, or if this call rejects. */
async function letGo(cell: PreparedCell, program: Program): Promise<Omit<Running, 'group'>> {
  try {
    const loaded = await cell.handOver(program);
    const output = new Transcript();
    const run = loaded.release(output.sink);
    const seen = collect(cell, run, output).then((collected) => ({ ...collected, held: loaded.held }));
    return { posture: loaded.posture, run, seen, said: output.said, output: () => output.stdout };
  } catch (error) {
    await cell[Symbol.asyncDispose]();
    throw error;
  }
}

/** An attack's program. */
export function programOf(attack: Attack): Program {
  const { program, values = {}, stdin = null, files = [], outputs = [], limits = {} } = attack;
  const language = LANGUAGE_BY_ENDING[program.split('.').at(-1) as string];
  if (language === undefined) throw new Error(`no language is known for ${program}`);
  const source = readFileSync(join(import.meta.dirname, 'programs', program), 'utf8');
  const code = Object.entries(values).reduce(
    (text, [name, value]) => text.replaceAll(`@${name}@`, String(value)),
    source,
  );
  return {
    language,
    code,
    stdin,
    args: [],
    env: {},
    files,
    outputs,
    limits: { ...LIMIT_DEFAULTS, ...PATIENT, ...limits },
  };
}

async function collect(prepared: PreparedCell, run: RunningCell, output: Transcript): Promise<Omit<Seen, 'held'>> {
  await using cell = prepared;
  const collection = await run.collect();
  const { stdout, stderr, recordCounts } = output;
  return { ...collection, posture: cell.posture, stdout, stderr, recordCounts };
}

/** Recorded output as a client would fold it. */
class Transcript {
  stdout = '';
  stderr = '';
  readonly recordCounts = { stdout: 0, stderr: 0 };
  #waiting: (() => void)[] = [];

  readonly sink = (stream: 'stdout' | 'stderr', records: readonly OutputRecord[]): void => {
    for (const record of records) this[stream] += outputText(record);
    this.recordCounts[stream] += records.length;
    for (const wake of this.#waiting.splice(0)) wake();
  };

  readonly said = async (text: string): Promise<void> => {
    while (!this.stdout.includes(text)) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  };
}
