/**
 * The check-lists of CONTRIBUTING.md are complete. For each kind of change, the test adds a row to a copy of the tree.
 * The list must have every place where the compiler then requires a further row. The compiler may miss a file, so
 * the list must also have every file that names the neighbour: the existing row next to the new row.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { SCHEMA_NAME } from '../../packages/server/src/store/sqlite/migrations/migrate.ts';
import { type Change, copyOfTree, type TreeCopy } from '../../tools/copy-of-tree.ts';
import { kindOf } from '../../tools/size.ts';

const root = join(import.meta.dirname, '../..');
const COMPILER = join(root, 'node_modules/@typescript/native/bin/tsc');
const contributing = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');

interface Kind {
  /** The list's heading. */
  readonly list: string;
  /** The pattern for files that name the neighbour: the existing row next to the new row. */
  readonly neighbour: RegExp;
  /** A new row, and the word for this row in the compiler's errors. Absent if no type requires such rows. */
  readonly plant?: Change & { readonly word: string };
}

const PROTOCOL = 'packages/protocol/src';

const KINDS: readonly Kind[] = [
  {
    list: 'A new operation',
    neighbour: /\bmintStreamTicket\b/,
    plant: {
      word: 'plantedOperation',
      file: `${PROTOCOL}/endpoints.ts`,
      from: "  cancelJob: { method: 'DELETE', path: '/v1/jobs/{id}' },\n",
      to: "  cancelJob: { method: 'DELETE', path: '/v1/jobs/{id}' },\n  plantedOperation: { method: 'GET', path: '/v1/planted' },\n",
    },
  },
  {
    list: 'A new limit of a job',
    neighbour: /\bmax_pids\b|guestProcesses|RLIMIT_NPROC/,
    plant: {
      word: 'max_planted',
      file: `${PROTOCOL}/limits.ts`,
      from: "'max_pids', 'max_file_mb'] as const;",
      to: "'max_pids', 'max_file_mb', 'max_planted'] as const;",
    },
  },
  {
    list: 'A new kind of event',
    neighbour:
      /\bkind [!=]== '(artifact|cancel_requested|violation)'|\bcancel_requested['"]|\bcancel_requested: |kind: 'violation'/,
    plant: {
      word: 'planted_event',
      file: `${PROTOCOL}/events.ts`,
      from: '  cancel_requested: Type.Object(',
      to: '  planted_event: OutputRecord,\n  cancel_requested: Type.Object(',
    },
  },
  {
    list: 'A new provider',
    neighbour: /'(gvisor|subprocess)'|\b(gvisor|subprocess): /,
    plant: {
      word: 'planted_provider',
      file: `${PROTOCOL}/posture.ts`,
      from: "'namespace', 'gvisor'] as const;",
      to: "'namespace', 'gvisor', 'planted_provider'] as const;",
    },
  },
  {
    list: 'A new language',
    neighbour: /\bruby\b/i,
    plant: {
      word: 'planted_language',
      file: `${PROTOCOL}/languages.ts`,
      from: "  'ruby',\n",
      to: "  'ruby',\n  'planted_language',\n",
    },
  },
  { list: 'A migration of the store', neighbour: new RegExp(SCHEMA_NAME) },
  { list: 'The wording of an error', neighbour: /\bqueue_full\b/ },
  { list: 'How a stream is resumed', neighbour: /\b(STREAM_CLOSE_CODES|streamAddress|openEventStream)\b/ },
];

/** The handwritten sources that run in production, with their text. */
const sources = execFileSync('git', ['ls-files', 'packages', 'clients/python/src'], { cwd: root })
  .toString()
  .split('\n')
  .filter((file) => /\.(tsx?|[ch]|pl|py)$/.test(file) && existsSync(join(root, file)))
  .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }))
  .filter(({ file, text }) => !['tests', 'generated'].includes(kindOf(file, text)));

const isSource = (path: string) => sources.some(({ file }) => file === path);

/** The text of a list. */
function textOf(list: string): string {
  const [, rest = ''] = contributing.split(`**${list}**`);
  return rest.split(/\n\*\*|\n## /)[0] ?? '';
}

/** The paths in a text. They may lack `packages/` or `packages/server/src/`. A path that leads nowhere stays as it is. */
function pathsIn(text: string): string[] {
  const words = [...text.matchAll(/`([^`\s]+)`/g)].map(([, word = '']) => word);
  return words
    .filter((word) => /\/|\.(tsx?|md|py|json)$/.test(word))
    .map((path) => ['', 'packages/', 'packages/server/src/'].map((at) => at + path).find(isThere) ?? path);
}

const isThere = (path: string) => existsSync(join(root, path));

interface Complaint {
  readonly file: string;
  readonly text: string;
}

/** Compiles everything, including tests, as one program. Errors for other reasons name no planted word. */
const CONFIG = {
  extends: './tsconfig.pages.json',
  include: ['packages', 'test', 'bench', 'tools'],
};

/** The errors about a record without a member and about a switch without a case. All other errors follow from these. */
const LACKS = /^([^(\n]+)\(\d+,\d+\): error TS(2741|1360):/;

/** The compiler's errors in a tree. An indented line belongs to the error above it. */
function complaintsIn(path: string): Complaint[] {
  writeFileSync(join(path, 'tsconfig.planted.json'), JSON.stringify(CONFIG));
  const { stdout } = spawnSync(process.execPath, [COMPILER, '-p', 'tsconfig.planted.json'], { cwd: path });
  return stdout
    .toString()
    .split(/\n(?! )/)
    .map((text) => ({ file: LACKS.exec(text)?.[1] ?? '', text }));
}

function planted(plant: Kind['plant'], tree: TreeCopy): void {
  if (plant !== undefined && tree.changed(plant) === null) throw new Error(`${plant.file} has no place for a row`);
}

let complaints: readonly Complaint[] = [];
beforeAll(async () => {
  await using tree = await copyOfTree();
  // The operation is planted last, after `write-openapi.ts` ran: that program fails while an operation lacks a row.
  const [operation, ...others] = KINDS;
  for (const { plant } of others) planted(plant, tree);
  execFileSync(process.execPath, ['tools/write-openapi.ts'], { cwd: tree.path });
  planted(operation?.plant, tree);
  complaints = complaintsIn(tree.path);
});

const isNamed = (file: string, paths: readonly string[]) =>
  paths.some((path) => file === path || (path.endsWith('/') && file.startsWith(path)));

describe.each(KINDS)('$list', ({ list, neighbour, plant }) => {
  const paths = pathsIn(textOf(list));

  test('names only places that exist', () => {
    expect(paths.length).toBeGreaterThan(3);
    expect(paths.filter((path) => !isThere(path))).toEqual([]);
  });

  test('has every source file that names the new row’s neighbour', () => {
    const having = sources.filter(({ text }) => neighbour.test(text)).map(({ file }) => file);
    expect(having.length).toBeGreaterThan(0);
    expect(having.filter((file) => !isNamed(file, paths))).toEqual([]);
  });

  test.runIf(plant)('has in italics every place where the compiler requires a row, and no other source', () => {
    const asking = complaints.filter(({ text }) => text.includes(plant?.word ?? '')).map(({ file }) => file);
    const italic = [...textOf(list).matchAll(/\*([^*]+)\*/g)].flatMap(([, words = '']) => pathsIn(words));
    expect(asking.filter((path) => /\.tsx?$/.test(path) && path !== plant?.file && !italic.includes(path))).toEqual([]);
    // Tests in italics are not checked here, because they require a row only when they run.
    expect(italic.filter((path) => /\.tsx?$/.test(path) && isSource(path) && !asking.includes(path))).toEqual([]);
  });
});
