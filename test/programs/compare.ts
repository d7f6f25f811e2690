/** Runs programs bare and in one class, side by side, and says what differs. */
import { accessSync } from 'node:fs';
import { runBare } from './bare.ts';
import { AT_ONCE, type CellRunner } from './in-cell.ts';
import type { Run, TriedProgram } from './program.ts';

/** What is to be said of one program in one class. `difference` is null where the cell did what the host did. */
export interface Compared {
  readonly program: TriedProgram;
  readonly bare: Run;
  readonly cell: Run;
  readonly difference: string | null;
}

/** Whether the host has what a program needs. */
export function isHere({ needs }: TriedProgram): boolean {
  return needs.every((need) =>
    (need.startsWith('/') ? [need] : ['/usr/bin', '/bin'].map((at) => `${at}/${need}`)).some(exists),
  );
}

function exists(path: string): boolean {
  try {
    accessSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Bare runs of programs by their name; those that failed bare are among them. */
export async function runAllBare(
  programs: readonly TriedProgram[],
  onRun: (program: TriedProgram, run: Run) => void,
): Promise<ReadonlyMap<string, Run>> {
  const runs = new Map<string, Run>();
  await eachOf(programs, async (program) => {
    const run = await runBare(program);
    runs.set(program.name, run);
    onRun(program, run);
  });
  return runs;
}

/** Whether a bare run shows anything: a program that fails without a cell tells nothing of cells. */
export function passed({ ended }: Run): boolean {
  return ended === 'exit 0';
}

/** Runs in cells what passed bare. */
export async function compareAll(
  programs: readonly TriedProgram[],
  bareRuns: ReadonlyMap<string, Run>,
  { cells, onRun }: { readonly cells: CellRunner; readonly onRun: (compared: Compared) => void },
): Promise<readonly Compared[]> {
  const all: Compared[] = [];
  await eachOf(programs, async (program) => {
    const bare = bareRuns.get(program.name);
    if (bare === undefined || !passed(bare)) return;
    const cell = await cells.run(program);
    const compared = { program, bare, cell, difference: differenceOf(program, { bare, cell }) };
    all.push(compared);
    onRun(compared);
  });
  return all;
}

/** What a cell did otherwise than the host; null where it did the same. */
export function differenceOf(
  { compared }: TriedProgram,
  { bare, cell }: Pick<Compared, 'bare' | 'cell'>,
): string | null {
  if (cell.ended !== bare.ended) return `${cell.ended}: ${lastLines(`${cell.stdout}\n${cell.stderr}`)}`;
  if (compared === 'verdict') return null;
  if (cell.stdout !== bare.stdout) return `stdout ${shown(cell.stdout)} instead of ${shown(bare.stdout)}`;
  return cell.stderr === bare.stderr ? null : `stderr ${shown(cell.stderr)} instead of ${shown(bare.stderr)}`;
}

function shown(text: string): string {
  return JSON.stringify(text.length > 300 ? `${text.slice(0, 300)}…` : text);
}

/** The end of what it said: there is the reason. */
function lastLines(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const telling = lines.filter((line) => /^(ERROR|FAIL|\w*Error|OSError|.*skipped)\b/.test(line));
  return [...telling.slice(0, 8), ...lines.slice(-2)].join(' | ').slice(0, 700);
}

async function eachOf(programs: readonly TriedProgram[], act: (program: TriedProgram) => Promise<void>): Promise<void> {
  const waiting = programs.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const program of waiting) await act(program);
    }),
  );
}
