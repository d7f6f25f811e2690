/**
 * Proves a language by running a small program in a real cell. The program uses every feature that a job is promised. A
 * language is offered only if the result of its canary is exact. Spec § What the service does 2.
 */

import { readFileSync } from 'node:fs';
import { type Language, LIMIT_DEFAULTS, outputText } from '@vouchbox/protocol';
import { within } from '../ground/waiting/within.ts';
import { LANGUAGE_RUNS } from './language-runs.ts';
import type { Collection, Posture, PreparedCell, Program } from './sandbox.ts';

/** How long a canary may take, without and with a compiler. */
const SECONDS_MAX = { run: 10, compiled: 30 };
const STDIN = 'canary stdin\n';
const INPUT = 'canary input';
const EXIT_CODE = 7;

/** Each prints its stdin, writes to a reopened `/dev/stderr`, copies its input to its output, and exits 7. */
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
  | { readonly language: Language; readonly posture: Posture }
  | { readonly language: Language; readonly problem: string };

/** Runs the canary of one language. Never rejects, and ends at most one second after its time limit. */
export async function runCanary(language: Language, prepare: () => Promise<PreparedCell>): Promise<CanaryResult> {
  const attempt = tryCanary(language, prepare).catch((error: Error) => ({ language, problem: error.message }));
  const seconds = secondsMax(language);
  return await within(attempt, (seconds + 1) * 1000, { language, problem: `did not finish within ${seconds} s` });
}

async function tryCanary(language: Language, prepare: () => Promise<PreparedCell>): Promise<CanaryResult> {
  await using cell = await prepare();
  const written = { stdout: '', stderr: '' };
  const loaded = await cell.handOver(canaryProgram(language));
  const running = loaded.release((stream, records) => {
    for (const record of records) written[stream] += outputText(record);
  });
  const problem = problemOf(await running.collect(), written);
  return problem === null ? { language, posture: cell.posture } : { language, problem };
}

function canaryProgram(language: Language): Program {
  const wall_seconds = secondsMax(language);
  return {
    language,
    code: readProgram(language),
    stdin: STDIN,
    args: [],
    env: {},
    files: [{ path: 'input/original', content: Buffer.from(INPUT) }],
    outputs: ['output/copy'],
    limits: { ...LIMIT_DEFAULTS, wall_seconds, cpu_seconds: Math.max(LIMIT_DEFAULTS.cpu_seconds, wall_seconds / 2) },
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
