/** Every way in which a cell is made, and how a program with tools runs in one. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Language,
  LIBRARIES_FILE,
  LIMIT_DEFAULTS,
  outputText,
  type RequestedLimits,
  type ToolLimits,
} from '@vouchbox/protocol';
import { afterAll, beforeAll } from 'vitest';
import type { PreflightOptions } from '../../classes/candidate.ts';
import { openProvider } from '../../prove/preflight.ts';
import type { Collection, ProgramTools, Provider, ToolCall, ToolOutcome } from '../../sandbox.ts';

export const WAYS = {
  'a forked cell': { choice: 'namespace', namespaceLauncher: 'fork' },
  'a cell of crun': { choice: 'namespace', namespaceLauncher: 'crun' },
  'a gVisor cell that is started directly': { choice: 'gvisor', gvisorStarter: 'direct' },
  'a gVisor cell of runsc': { choice: 'gvisor', gvisorStarter: 'runsc' },
  'a subprocess': { choice: 'subprocess' },
} as const satisfies Readonly<Record<string, Partial<PreflightOptions>>>;
export type Way = keyof typeof WAYS;

const LIMITS: ToolLimits = { calls: 256, call_bytes: 256 * 1024, total_bytes: 4 * 1024 * 1024 };

export interface ToolRun extends Collection {
  readonly stdout: string;
  readonly stderr: string;
  readonly calls: readonly ToolCall[];
}

export type Answer = (call: number, outcome: ToolOutcome) => void;

export interface ToolRunOptions {
  readonly limits?: Partial<ToolLimits>;
  readonly more?: Partial<RequestedLimits>;
  /** By default it may call tools. */
  readonly hasTools?: boolean;
  /** The archive of its libraries. */
  readonly libraries?: Uint8Array;
  /** Answers a call. By default, returns the call's arguments. */
  readonly tool?: (call: ToolCall, answer: Answer) => void;
}

/** Opens a provider of each way for the tests of a file. */
export function useToolCells() {
  const open = new Map<Way, Provider>();
  const dataDirectory = mkdtempSync(join(tmpdir(), 'svc-tools-test-'));
  const opened = (way: Way) => open.get(way) as Provider;

  beforeAll(async () => {
    for (const [way, chosen] of Object.entries(WAYS)) {
      const instance = join(dataDirectory, way.replaceAll(' ', '-'));
      const options = {
        packsDirectory: null,
        workBytes: 80 * 1024 * 1024,
        hostPostureSha256: null,
        instance,
        ...chosen,
      };
      open.set(way as Way, (await openProvider(options)).provider);
    }
  }, 120_000);

  afterAll(async () => {
    for (const provider of open.values()) await provider[Symbol.asyncDispose]();
    rmSync(dataDirectory, { recursive: true });
  });

  return { opened, run: (...words: RunWords) => runIn(opened, ...words) };
}

type RunWords = readonly [way: Way, language: Language, code: string, options?: ToolRunOptions];

async function runIn(
  opened: (way: Way) => Provider,
  ...[way, language, code, options = {}]: RunWords
): Promise<ToolRun> {
  const {
    limits,
    more,
    hasTools = true,
    libraries,
    tool = ({ call, ...rest }, answer) => answer(call, { result: rest.arguments }),
  } = options;
  await using cell = await opened(way).prepare({
    ...{ language, runtime: null, hasTools },
    hasLibraries: libraries !== undefined,
  });
  const calls: ToolCall[] = [];
  let answer: Answer = () => {};
  const programTools: ProgramTools = {
    limits: { ...LIMITS, ...limits },
    begin(begun) {
      answer = begun;
    },
    called(call) {
      calls.push(call);
      tool(call, answer);
    },
  };
  const loaded = await cell.handOver({
    language,
    code,
    stdin: null,
    args: [],
    env: {},
    files: libraries === undefined ? [] : [{ path: LIBRARIES_FILE, content: libraries }],
    outputs: [],
    limits: { ...LIMIT_DEFAULTS, wall_seconds: 20, cpu_seconds: 20, ...more },
    ...(hasTools && { tools: programTools }),
  });
  const text = { stdout: '', stderr: '' };
  const running = loaded.release((stream, records) => {
    for (const record of records) text[stream] += outputText(record);
  });
  return { ...(await running.collect()), ...text, calls };
}
