/** A Python program ends in a cell as under `python3` alone: it does and prints the same, and has the same exit code. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { LIMIT_DEFAULTS, outputText } from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { copiedPython } from '../classes/namespace/copies.fixture.ts';
import { isLauncherBuilt } from '../classes/namespace/runtime.ts';
import { openProvider } from '../prove/preflight.ts';
import type { CellRequest, Ending, Provider } from '../sandbox.ts';
import { ENDS } from './python-ends.fixture.ts';

interface End {
  readonly stdout: string;
  readonly stderr: string;
  readonly ending: Ending;
}

/** `fork` copies the interpreter of a template, and `crun` starts an interpreter. */
const BUILDERS = ['fork', 'crun'] as const;

let directory: string;
let work: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-python-ends-'));
  work = join(directory, 'work');
  mkdirSync(work);
});
afterAll(() => rmSync(directory, { recursive: true }));

const bare = new Map<string, Promise<End>>();

/** Runs the program under plain python3, once for all builders. */
function endBare(title: string): Promise<End> {
  const known = bare.get(title) ?? runBare(ENDS[title] as string);
  bare.set(title, known);
  return known;
}

async function runBare(code: string): Promise<End> {
  const home = mkdtempSync(join(work, 'program-'));
  const source = join(home, 'main.py');
  writeFileSync(source, code);
  const child = spawn('/usr/bin/python3', ['-I', '-u', source], {
    cwd: home,
    env: {},
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [exitCode, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>,
  ]);
  const shown = (said: string) => said.replaceAll(home, '/work');
  const ending: Ending =
    signal === null ? { kind: 'exited', exit_code: exitCode as number } : { kind: 'signaled', signal };
  return { stdout: withoutAddresses(shown(stdout)), stderr: withoutAddresses(shown(stderr)), ending };
}

async function runInCell(provider: Provider, request: CellRequest, code: string): Promise<End> {
  await using cell = await provider.prepare(request);
  const program = { language: 'python', code, stdin: null, args: [], env: {}, files: [], outputs: [] } as const;
  const loaded = await cell.handOver({
    ...program,
    limits: { ...LIMIT_DEFAULTS, wall_seconds: 30, cpu_seconds: 20 },
  });
  const said = { stdout: '', stderr: '' };
  const running = loaded.release((stream, records) => {
    for (const record of records) said[stream] += outputText(record);
  });
  const { ending } = await running.collect();
  return { stdout: withoutAddresses(said.stdout), stderr: withoutAddresses(said.stderr), ending };
}

/** The output without addresses, because they differ from run to run. */
function withoutAddresses(said: string): string {
  return said.replaceAll(/0x[0-9a-f]+/g, '0x');
}

describe.each(BUILDERS)('a Python program in a cell that %s builds', (namespaceLauncher) => {
  let provider: Provider;
  let request: CellRequest = { language: 'python', runtime: null };
  beforeAll(async () => {
    if (namespaceLauncher === 'fork' && !isLauncherBuilt()) throw new Error('the launcher is not built');
    const options = { packsDirectory: null, workBytes: 2 ** 24, hostPostureSha256: null, namespaceLauncher };
    ({ provider } = await openProvider({
      choice: 'namespace',
      instance: join(directory, namespaceLauncher),
      ...options,
    }));
    if (namespaceLauncher === 'fork') request = await copiedPython(provider, 'ends');
  });
  afterAll(() => provider?.[Symbol.asyncDispose]());

  test.each(Object.keys(ENDS))('%s as under plain python3', async (title) => {
    expect(await runInCell(provider, request, ENDS[title] as string)).toEqual(await endBare(title));
  });
});
