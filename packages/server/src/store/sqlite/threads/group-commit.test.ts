import type { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { TestStore } from '../../store.fixture.ts';
import type { Answer, Call } from '../../threads/messages.ts';
import { type Connection, openForReading, openForWriting, prepareFile } from '../connection.ts';
import { GroupCommit, groupCommandsMax } from './group-commit.ts';

let testStore: TestStore;
let connection: Connection;
let database: DatabaseSync;
beforeEach(() => {
  // The clock stands still: on a busy machine, a group could otherwise reach its time limit and close early.
  vi.spyOn(performance, 'now').mockReturnValue(0);
  testStore = new TestStore();
  prepareFile(testStore.path);
  connection = openForWriting(testStore.path);
  database = connection.database;
  database.exec('create table notes (note text primary key) strict');
});
afterEach(async () => {
  vi.restoreAllMocks();
  connection[Symbol.dispose]();
  await testStore[Symbol.asyncDispose]();
});

/** Stores the input as a note, then fails if the note says so. */
async function note({ input }: Call): Promise<unknown> {
  database.prepare('insert into notes values (?)').run(String(input));
  if (String(input).startsWith('fails')) throw new Error(`no: ${String(input)}`);
  return `stored ${String(input).slice(0, 20)}`;
}

const callsOf = (inputs: readonly string[]): Call[] => inputs.map((input, id) => ({ id, name: 'note', input }));
const codeOf = (answer: Answer) => ('error' in answer ? answer.error.code : 'stored');

function notes(): string[] {
  using reader = openForReading(testStore.path);
  return reader.database
    .prepare('select note from notes order by note')
    .all()
    .map((row) => String(row['note']).slice(0, 20));
}

test('commands that wait together share a transaction, and each gets its own answer', async () => {
  const waiting = callsOf(['a', 'b', 'c']);
  let open = 0;
  const commit = new GroupCommit(database, async (call) => {
    open += notes().length;
    return note(call);
  });
  expect(await commit.take(waiting)).toEqual([
    { id: 0, value: 'stored a' },
    { id: 1, value: 'stored b' },
    { id: 2, value: 'stored c' },
  ]);
  expect(waiting).toEqual([]);
  expect(open).toBe(0);
  expect(notes()).toEqual(['a', 'b', 'c']);
});

test('if one command of a group fails, the other commands are stored one by one', async () => {
  const ran: unknown[] = [];
  const commit = new GroupCommit(database, (call) => {
    ran.push(call.input);
    return note(call);
  });
  const waiting = callsOf(['a', 'fails late', 'a', 'b']);
  const answers: Answer[] = [];
  while (waiting.length > 0) answers.push(...(await commit.take(waiting)));
  expect(answers.map(codeOf)).toEqual(['stored', 'internal', 'internal', 'stored']);
  expect(answers[1]).toMatchObject({ error: { message: expect.stringContaining('no: fails late') as string } });
  expect(notes()).toEqual(['a', 'b']);
  // There are no savepoints, so the first command of the group runs again.
  expect(ran).toEqual(['a', 'fails late', 'a', 'fails late', 'a', 'b']);
});

test('a group of commands is bounded, and the commands beyond the bound wait for the next group', async () => {
  const inputs = Array.from({ length: groupCommandsMax + 1 }, (_, number) => `note ${number}`);
  const waiting = callsOf(inputs);
  const commit = new GroupCommit(database, note);
  let answered = 0;
  let groups = 0;
  for (; waiting.length > 0; groups++) answered += (await commit.take(waiting)).length;
  expect(groups).toBeGreaterThanOrEqual(2);
  expect(answered).toBe(inputs.length);
});

test('a command too large for the remaining space is refused as full, and the others in its group are stored', async () => {
  const { page_count: pages } = database.prepare('pragma page_count').get() ?? {};
  database.exec(`pragma max_page_count = ${Number(pages) + 8}`);
  const commit = new GroupCommit(database, note);
  const waiting = callsOf(['a', 'x'.repeat(1_000_000), 'b']);
  const answers = [...(await commit.take(waiting)), ...(await commit.take(waiting))];
  expect(answers.map((answer) => answer.id)).toEqual([0, 1, 2]);
  expect(answers.map(codeOf)).toEqual(['stored', 'full', 'stored']);
  expect(notes()).toEqual(['a', 'b']);
});

test('if the transaction cannot begin, every waiting command is refused', async () => {
  database.exec('pragma busy_timeout = 0');
  using other = openForWriting(testStore.path);
  other.database.exec('begin immediate');
  const commit = new GroupCommit(database, note);
  const waiting = callsOf(['a', 'b']);
  expect((await commit.take(waiting)).map(codeOf)).toEqual(['busy', 'busy']);
  expect(waiting).toEqual([]);
  other.database.exec('rollback');
  expect((await commit.take(callsOf(['a']))).map(codeOf)).toEqual(['stored']);
});

test('commands that may be synced late are synced together with the next command that must be synced at once', async () => {
  const levels: unknown[] = [];
  const commit = new GroupCommit(
    database,
    async (call) => {
      levels.push(database.prepare('pragma synchronous').get()?.['synchronous']);
      return note(call);
    },
    ({ id }) => id < 2,
  );
  const [first, second, third] = callsOf(['a', 'b', 'c']) as [Call, Call, Call];
  const [full, normal] = [2, 1];
  await commit.take([first]);
  expect([levels.splice(0), commit.hasLagged, notes()]).toEqual([[normal], true, ['a']]);
  await commit.take([second, third]);
  expect([levels.splice(0), commit.hasLagged, notes()]).toEqual([[full, full], false, ['a', 'b', 'c']]);
});
