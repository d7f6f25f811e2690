/**
 * Counts the lines in every room. A room is a package, a folder of the server, or a folder around the packages.
 * `npm run size` prints the table, and exits with 1 if the code that runs in production has more lines than it may.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The most lines that may run in production. A change that needs more lines raises the number here, and its commit says why they
 * are worth it. A change that leaves more than a hundred lines unused lowers the number.
 */
const LINES_MAX = { TypeScript: 89_830, C: 4_990 } as const;

const KINDS = ['TypeScript', 'JavaScript', 'C', 'Perl', 'tests', 'generated'] as const;
type Kind = (typeof KINDS)[number];
export type Lines = Readonly<Record<Kind, number>>;

const FILES = '{packages,test,tools,bench}/**/*.{ts,tsx,mts,mjs,cjs,c,h,pl}';
/** Rooms whose lines run in production. */
const isProduction = (room: string) => room.startsWith('packages/');

/** The lines of each kind in each room, keyed by the room's path. */
export function linesOfRooms(root: string): Map<string, Lines> {
  const rooms = new Map<string, Lines>();
  const files = globSync(FILES, { cwd: root, exclude: ['**/node_modules'] });
  for (const file of files) {
    const room = roomOf(file);
    const text = readFileSync(join(root, file), 'utf8');
    const kind = kindOf(file, text);
    const lines = rooms.get(room) ?? NONE;
    rooms.set(room, { ...lines, [kind]: lines[kind] + text.split('\n').length - 1 });
  }
  return rooms;
}

const NONE: Lines = { TypeScript: 0, JavaScript: 0, C: 0, Perl: 0, tests: 0, generated: 0 };

function roomOf(file: string): string {
  const [first = '', second = '', third = '', fourth = ''] = file.split('/');
  if (first !== 'packages') return first;
  const isInServer = second === 'server' && third === 'src' && !fourth.includes('.');
  return isInServer ? `packages/server/src/${fourth}` : `packages/${second}`;
}

/** The kind of a file. The file's lines are counted in the column for this kind. */
export function kindOf(file: string, text: string): Kind {
  if (/\.(test|fixture|trial)\.tsx?$/.test(file) || /^(packages\/[^/]+\/)?test\//.test(file)) return 'tests';
  const [head = ''] = text.split('\n');
  if (head.includes('`npm run openapi` writes this file')) return 'generated';
  if (/\.[ch]$/.test(file)) return 'C';
  if (file.endsWith('.pl')) return 'Perl';
  return /\.(mjs|cjs)$/.test(file) ? 'JavaScript' : 'TypeScript';
}

/** The lines in all rooms that run in production. */
export function productionOf(rooms: ReadonlyMap<string, Lines>): Lines {
  const lines = [...rooms].filter(([room]) => isProduction(room)).map(([, counted]) => counted);
  return lines.reduce((sum, next) => each((kind) => sum[kind] + next[kind]), NONE);
}

function each(count: (kind: Kind) => number): Lines {
  return Object.fromEntries(KINDS.map((kind) => [kind, count(kind)])) as Lines;
}

/** The kinds with more lines than are allowed, in words. */
export function excesses(lines: Lines, max: Partial<Lines> = LINES_MAX): string[] {
  return KINDS.filter((kind) => lines[kind] > (max[kind] ?? Number.POSITIVE_INFINITY)).map(
    (kind) => `production has ${lines[kind]} lines of ${kind}, of at most ${max[kind]}: see tools/size.ts`,
  );
}

function table(rooms: ReadonlyMap<string, Lines>): string {
  const sorted = [...rooms].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const rows = [
    ...sorted.filter(([room]) => isProduction(room)),
    ['production', productionOf(rooms)] as const,
    ...sorted.filter(([room]) => !isProduction(room)),
  ];
  const numbers = rows.map(([room, lines]) =>
    rowOf(
      room,
      KINDS.map((kind) => numberText(lines[kind])),
    ),
  );
  return [rowOf('lines of', KINDS), ...numbers].join('');
}

function rowOf(name: string, cells: readonly string[]): string {
  return `${name.padEnd(30)}${cells.map((cell) => cell.padStart(12)).join('')}\n`;
}

function numberText(count: number): string {
  return count === 0 ? '' : count.toLocaleString('en');
}

function main(root: string): void {
  const rooms = linesOfRooms(root);
  process.stdout.write(table(rooms));
  const faults = excesses(productionOf(rooms));
  for (const fault of faults) process.stdout.write(`${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
}

if (import.meta.main) main(join(import.meta.dirname, '..'));
