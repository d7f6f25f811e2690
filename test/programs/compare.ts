/** Runs programs bare and in one class, side by side, and says what differs. */
import { accessSync } from 'node:fs';
import { AT_ONCE, type ClassName } from './in-cell.ts';
import type { Run, TriedProgram } from './program.ts';

/** Where a program runs: on the host itself, or in a cell of a class. */
export type PlaceName = 'bare' | ClassName;

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

/** Whether a bare run shows anything: a program that fails without a cell tells nothing of cells. */
export function passed({ ended }: Run): boolean {
  return ended === 'exit 0';
}

/** Where programs run, and what is told of each run. */
export interface Trial {
  readonly classes: readonly ClassName[];
  /** Runs it, or answers what an earlier run of it was. */
  readonly run: (program: TriedProgram, place: PlaceName) => Promise<Run>;
  readonly onBare: (program: TriedProgram, run: Run) => void;
  readonly onCell: (className: ClassName, compared: Compared) => void;
}

/** Runs each program bare and then, where it passed, in every class. Some run at once, so the order of calls is open. */
export async function compareAll(programs: readonly TriedProgram[], trial: Trial): Promise<void> {
  await eachOf(programs, async (program) => {
    const bare = await trial.run(program, 'bare');
    trial.onBare(program, bare);
    if (!passed(bare)) return;
    for (const className of trial.classes) {
      const cell = await trial.run(program, className);
      trial.onCell(className, { program, bare, cell, difference: differenceOf(program, { bare, cell }) });
    }
  });
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
