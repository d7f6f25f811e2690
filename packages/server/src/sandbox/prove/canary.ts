/**
 * Proves a language by running a small program in a real cell. The program uses every feature that a job is promised. A
 * language is offered only if the result of its canary is exact. Spec § What the service does 2.
 */

import { readFileSync } from 'node:fs';
import { type Language, LIMIT_DEFAULTS, outputText } from '@vouchbox/protocol';
import { within } from '../../ground/waiting/within.ts';
import { hostPatience, SECOND_TRY_TIMES } from '../kernel/host/patience.ts';
import { LANGUAGE_RUNS } from '../program/language-runs.ts';
import {
  type Collection,
  type HeldLimits,
  type Posture,
  type PreparedCell,
  type Program,
  wasLate,
} from '../sandbox.ts';

/** How long a canary may take on an ordinary host, without and with a compiler. */
const SECONDS_MAX = { run: 10, compiled: 30 };
const STDIN = 'canary stdin\n';
const INPUT = 'canary input';
const EXIT_CODE = 7;

/** The canaries. Each prints its stdin, writes to a reopened `/dev/stderr`, copies its input to its output, and exits with 7. */
const PROGRAMS: Readonly<Record<Language, string>> = {
  python: 'canary.py',
  node: 'canary.cjs',
  bash: 'canary.sh',
  typescript: 'canary.mts',
  ruby: 'canary.rb',
  php: 'canary.php',
  lua: 'canary.lua',
  r: 'canary.R',
  java: 'canary.java',
  c: 'canary.c',
  cpp: 'canary.cpp',
};

function readProgram(language: Language): string {
  return readFileSync(new URL(`./canaries/${PROGRAMS[language]}`, import.meta.url), 'utf8');
}

/** The result of a canary: the observed posture, or why the language cannot be used here. */
export type CanaryResult =
  | { readonly language: Language; readonly posture: Posture; readonly held: HeldLimits['limit_enforcement'] }
  | { readonly language: Language; readonly problem: string; readonly isLate: boolean };

/** The endings of a program that had too little time. */
const LATE_ENDINGS: ReadonlySet<string> = new Set(['wall_limit', 'cpu_limit']);

/** Makes a cell for a canary. The cell must be ready within this time. */
type PrepareCanary = (readyMilliseconds: number) => Promise<PreparedCell>;

/**
 * Runs the canary of one language. Never rejects. The cell and the program may each take `times` the time that this host
 * usually needs.
 */
export async function runCanary(language: Language, prepare: PrepareCanary, times = 1): Promise<CanaryResult> {
  const seconds = Math.round(secondsMax(language) * times * (await hostPatience()));
  const attempt = tryCanary(language, seconds, prepare).catch((error: Error) => ({
    language,
    problem: error.message,
    isLate: wasLate(error),
  }));
  const problem = `did not finish within ${seconds} s`;
  return await within(attempt, (2 * seconds + 1) * 1000, { language, problem, isLate: true });
}

/** Makes a cell for the canary of a language. */
type PrepareFor = (language: Language) => PrepareCanary;

/** Runs the canaries side by side. Never rejects. */
export function runCanaries(languages: readonly Language[], prepare: PrepareFor): Promise<readonly CanaryResult[]> {
  return Promise.all(languages.map((language) => runCanary(language, prepare(language))));
}

/**
 * Runs late canaries once more, one at a time and with more time, so that a slow host does not lose a class. Stops when
 * one is late again. Returns all results; those of second tries replace the late ones. Never rejects.
 */
export async function runLateAgain(
  first: readonly CanaryResult[],
  prepare: PrepareFor,
): Promise<readonly CanaryResult[]> {
  const results = [...first];
  for (const [at, { language }] of first.entries()) {
    if (!wasTooLate(first[at])) continue;
    const again = await runCanary(language, prepare(language), SECOND_TRY_TIMES);
    results[at] = again;
    if (wasTooLate(again)) break;
  }
  return results;
}

function wasTooLate(result: CanaryResult | undefined): boolean {
  return result !== undefined && 'problem' in result && result.isLate;
}

async function tryCanary(language: Language, seconds: number, prepare: PrepareCanary): Promise<CanaryResult> {
  await using cell = await prepare(seconds * 1000);
  const written = { stdout: '', stderr: '' };
  const loaded = await cell.handOver(canaryProgram(language, seconds));
  const running = loaded.release((stream, records) => {
    for (const record of records) written[stream] += outputText(record);
  });
  const collection = await running.collect();
  const problem = problemOf(collection, written);
  if (problem === null) return { language, posture: cell.posture, held: loaded.held.limit_enforcement };
  return { language, problem, isLate: LATE_ENDINGS.has(collection.ending.kind) };
}

function canaryProgram(language: Language, wall_seconds: number): Program {
  return {
    language,
    code: readProgram(language),
    stdin: STDIN,
    args: [],
    env: {},
    files: [{ path: 'input/original', content: Buffer.from(INPUT) }],
    outputs: ['output/copy'],
    // Only the wall clock ends the canary, because gVisor's own processor time counts as the cell's.
    limits: { ...LIMIT_DEFAULTS, wall_seconds, cpu_seconds: Math.max(LIMIT_DEFAULTS.cpu_seconds, wall_seconds * 2) },
  };
}

function secondsMax(language: Language): number {
  return LANGUAGE_RUNS[language].compiler === null ? SECONDS_MAX.run : SECONDS_MAX.compiled;
}

function problemOf(collection: Collection, written: { stdout: string; stderr: string }): string | null {
  const { ending, artifacts } = collection;
  if (ending.kind !== 'exited' || ending.exit_code !== EXIT_CODE) {
    return `the canary ended with ${JSON.stringify(ending)}, saying ${JSON.stringify(written.stderr.slice(0, 500))}`;
  }
  if (written.stdout !== STDIN) return `standard input or output is not passed on: ${JSON.stringify(written.stdout)}`;
  if (written.stderr !== 'canary stderr\n') return `/dev/stderr cannot be opened: ${JSON.stringify(written.stderr)}`;
  if (Buffer.from(artifacts[0]?.content ?? []).toString() !== INPUT) return 'an input did not come back as an output';
  return null;
}
