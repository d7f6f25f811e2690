/** Opens both isolated classes as the service does, and runs programs in cells of either class. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Language, LIMIT_DEFAULTS, outputText } from '@vouchbox/protocol';
import type { LoopbackChoice } from '../classes/candidate.ts';
import { openProvider } from '../prove/preflight.ts';
import type { Collection, HeldLimits, Program, Provider } from '../sandbox.ts';

export const CLASSES = ['namespace', 'gvisor'] as const;
export type IsolatedClass = (typeof CLASSES)[number];

export interface Run extends Collection {
  readonly stdout: string;
  readonly stderr: string;
  readonly held: HeldLimits;
}

/** Long limits: even on a busy machine, only the limit that a test is about may end a program. */
const PATIENT = { wall_seconds: 60, cpu_seconds: 30 };

export class CellsFixture implements AsyncDisposable {
  readonly #providers: ReadonlyMap<IsolatedClass, Provider>;
  readonly #directory: string;

  private constructor(providers: ReadonlyMap<IsolatedClass, Provider>, directory: string) {
    this.#providers = providers;
    this.#directory = directory;
  }

  static async open(loopback: LoopbackChoice = 'auto'): Promise<CellsFixture> {
    const directory = mkdtempSync(join(tmpdir(), 'svc-cells-test-'));
    const providers = new Map<IsolatedClass, Provider>();
    for (const choice of CLASSES) {
      const options = { packsDirectory: null, workBytes: 64 * 1024 * 1024, hostPostureSha256: null, loopback };
      const { provider } = await openProvider({ choice, instance: join(directory, choice), ...options });
      providers.set(choice, provider);
    }
    return new CellsFixture(providers, directory);
  }

  /** Runs a program to its end. */
  async run(
    choice: IsolatedClass,
    language: Language,
    code: string,
    limits: Partial<Program['limits']> = {},
  ): Promise<Run> {
    await using cell = await (this.#providers.get(choice) as Provider).prepare({ language, runtime: null });
    const program = { language, code, stdin: null, args: [], env: {}, files: [], outputs: [] };
    const loaded = await cell.handOver({ ...program, limits: { ...LIMIT_DEFAULTS, ...PATIENT, ...limits } });
    const text = { stdout: '', stderr: '' };
    const running = loaded.release((stream, records) => {
      for (const record of records) text[stream] += outputText(record);
    });
    return { ...(await running.collect()), ...text, held: loaded.held };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const provider of this.#providers.values()) await provider[Symbol.asyncDispose]();
    rmSync(this.#directory, { recursive: true });
  }
}
