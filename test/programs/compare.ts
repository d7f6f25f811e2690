/** Runs programs bare (on the host itself) and in one class, side by side, and lists the differences. */
import { accessSync } from 'node:fs';
import { AT_ONCE, type ClassName } from './in-cell.ts';
import type { Run, TriedProgram } from './program.ts';

/** Where a program runs: on the host itself, or in a cell of a class. */
export type PlaceName = 'bare' | ClassName;

/** The verdict on one program in one class. `difference` is null if the program did the same as on the host. */
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

/** Whether a bare run passed. A program that fails without a cell shows nothing about cells. */
export function passed({ ended }: Run): boolean {
  return ended === 'exit 0';
}

/** The classes to try, how to run a program, and the callbacks for each run. */
export interface Trial {
  readonly classes: readonly ClassName[];
  /** Runs a program in a place, or returns the result of an earlier run. */
  readonly run: (program: TriedProgram, place: PlaceName) => Promise<Run>;
  readonly onBare: (program: TriedProgram, run: Run) => void;
  readonly onCell: (className: ClassName, compared: Compared) => void;
}

/**
 * Runs each program bare and then, if it passed, in every class. Several run at once, so the order of calls may vary.
 */
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

/** The difference between the run in a cell and the run on the host; null if there is none. */
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

/** The end of the output, which shows the reason for a failure. */
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
