/** A new part of the code does not compile until the matrix of crossings has a row or a column for this part. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Change, copyOfTree } from '../../tools/copy-of-tree.ts';

/** A new entry for each list in the code, and the file in which the matrix then lacks a row or a column. */
const PLANTS: readonly (Change & { readonly misses: string })[] = [
  {
    file: 'packages/protocol/src/limits.ts',
    from: "LIMIT_NAMES = ['wall_seconds', ",
    to: "LIMIT_NAMES = ['wall_seconds', 'new_limit', ",
    misses: 'features.ts new_limit',
  },
  {
    file: 'packages/protocol/src/submission.ts',
    from: '  args: Type.Optional(ProgramArguments),',
    to: '  args: Type.Optional(ProgramArguments),\n  new_member: Type.Optional(Type.String()),',
    misses: 'features.ts new_member',
  },
  {
    file: 'packages/protocol/src/languages.ts',
    from: "LANGUAGES = [\n  'python',",
    to: "LANGUAGES = [\n  'new_language',\n  'python',",
    misses: 'features.ts new_language',
  },
  {
    file: 'packages/protocol/src/status.ts',
    from: "TERMINAL_STATUSES = ['succeeded',",
    to: "TERMINAL_STATUSES = ['new_status', 'succeeded',",
    misses: 'features.ts new_status',
  },
  {
    file: 'packages/protocol/src/status.ts',
    from: "TERMINAL_REASONS = [\n  'exited',",
    to: "TERMINAL_REASONS = [\n  'new_reason',\n  'exited',",
    misses: 'features.ts new_reason',
  },
  {
    file: 'packages/protocol/src/events.ts',
    from: "VIOLATION_TYPES = [\n  'wall_time',",
    to: "VIOLATION_TYPES = [\n  'new_violation',\n  'wall_time',",
    misses: 'features.ts new_violation',
  },
  {
    file: 'packages/protocol/src/endpoints.ts',
    from: "  getHealth: { method: 'GET', path: '/healthz' },",
    to: "  getHealth: { method: 'GET', path: '/healthz' },\n  newOperation: { method: 'GET', path: '/new' },",
    misses: 'features.ts newOperation',
  },
  {
    file: 'packages/protocol/src/pages.ts',
    from: "  getDocs: { path: '/docs',",
    to: "  getNewPage: { path: '/new', summary: 'New.', kind: 'html', content: HTML },\n  getDocs: { path: '/docs',",
    misses: 'features.ts getNewPage',
  },
  {
    file: 'packages/client/src/grade.ts',
    from: '  readonly onTest?: (',
    to: '  readonly newOption?: string;\n  readonly onTest?: (',
    misses: 'features.ts newOption',
  },
  {
    file: 'packages/adapters/src/open-adapter.ts',
    from: 'ADAPTERS = { piston,',
    to: "ADAPTERS = { piston, 'new-adapter': piston,",
    misses: 'places.ts new-adapter',
  },
  {
    file: 'packages/protocol/src/posture.ts',
    from: "BACKENDS = ['subprocess',",
    to: "BACKENDS = ['subprocess', 'new_class',",
    misses: 'places.ts new_class',
  },
  {
    file: 'packages/server/src/sandbox/classes/candidate.ts',
    from: "namespaceLauncher?: 'auto' |",
    to: "namespaceLauncher?: 'auto' | 'new_launcher' |",
    misses: 'places.ts new_launcher',
  },
];

/** The compiler's settings from `npm run check`, but only for the tables of the matrix. */
const SETTINGS = {
  extends: '../../tsconfig.json',
  files: ['features.ts', 'places.ts'],
  include: [],
};

/** The compiler's errors about these tables. */
async function compiled(tree: string): Promise<string> {
  const folder = join(tree, 'test/crossings');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(SETTINGS));
  const { promise, resolve } = Promise.withResolvers<string>();
  execFile(join(tree, 'node_modules/.bin/tsc'), ['-p', folder], { cwd: tree }, (error, stdout, stderr) =>
    resolve(error !== null && stdout === '' ? stderr || error.message : stdout),
  );
  return await promise;
}

/** The missing names, each after the file of its table. The indented lines below an error may have its details. */
function missedIn(said: string): string[] {
  return said.split(/^(?=\S)/m).flatMap((error) => {
    const [, file] = /^test\/crossings\/(\w+\.ts)\(/.exec(error) ?? [];
    const [, name] = /Property '"?([\w-]+)"?' is missing/.exec(error) ?? [];
    return file === undefined || name === undefined ? [] : [`${file} ${name}`];
  });
}

test('a new entry in any list of the code makes the compiler report a missing row or column of the crossings', {
  timeout: 600_000,
}, async () => {
  await using tree = await copyOfTree();
  expect(await compiled(tree.path)).toBe('');
  const planted = PLANTS.map((plant) => tree.changed(plant));
  expect(PLANTS.filter((_plant, index) => planted[index] === null)).toEqual([]);
  const missed = missedIn(await compiled(tree.path));
  expect(missed.toSorted()).toEqual(PLANTS.map(({ misses }) => misses).toSorted());
});
