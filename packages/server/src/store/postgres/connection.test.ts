import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PostgresServer, startPostgres } from '../../../../../test/rig/postgres-server.ts';
import { Session } from './connection.ts';

let server: PostgresServer;
let session: Session;
beforeAll(async () => {
  server = await startPostgres();
  session = await Session.open(server.url, {});
  await session.execute({ sql: 'create table notes (place int primary key, words text)', parameters: [] });
});
afterAll(async () => {
  await session[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const note = (place: number, words: string) =>
  session.send({ sql: 'insert into notes values ($1, $2)', parameters: [place, words] });
const notes = async () =>
  (await session.execute({ sql: 'select place, words from notes order by place', parameters: [] })).rows;

test('changes in one group are sent as one statement, each with its own parameters', async () => {
  await session.execute({ sql: 'delete from notes', parameters: [] });
  note(1, 'old');
  const asked = session.asked;
  session.together(() => {
    note(2, 'two');
    session.send({ sql: 'update notes set words = $2 where place = $1', parameters: [1, 'new'] });
    note(3, 'three');
  });
  expect(session.asked - asked).toBe(1);
  expect(await notes()).toEqual([
    { place: 1, words: 'new' },
    { place: 2, words: 'two' },
    { place: 3, words: 'three' },
  ]);
});

test('many changes in one group are sent one by one, in order', async () => {
  await session.execute({ sql: 'delete from notes', parameters: [] });
  const asked = session.asked;
  session.together(() => {
    for (let place = 0; place < 20; place++) note(place, `note ${place}`);
  });
  expect(session.asked - asked).toBe(20);
  expect(await notes()).toHaveLength(20);
});

test('a server on the same machine is reached through its socket', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-socket-'));
  chmodSync(directory, 0o777);
  await using local = await startPostgres({ unix_socket_directories: directory });
  const { username, password, port } = new URL(local.url);
  const url = `postgres://${username}:${password}@/postgres?host=${directory}&port=${port}`;
  await using bySocket = await Session.open(url, {});
  const asked = { sql: 'select inet_client_addr()::text as address', parameters: [] };
  expect((await bySocket.execute(asked)).rows).toEqual([{ address: null }]);
  rmSync(directory, { recursive: true });
});

test('an empty group of changes sends nothing', () => {
  const asked = session.asked;
  session.together(() => {});
  expect(session.asked).toBe(asked);
});

test('if one change in a group fails, the commit fails and no change is stored', async () => {
  await session.execute({ sql: 'delete from notes', parameters: [] });
  session.begin();
  session.together(() => {
    note(1, 'one');
    note(2, 'two');
    note(1, 'again');
  });
  await expect(session.commit()).rejects.toThrow('notes_pkey');
  expect(await notes()).toEqual([]);
});

test('a change that follows a group is sent by itself, even if gathering the group threw an error', async () => {
  await session.execute({ sql: 'delete from notes', parameters: [] });
  expect(() =>
    session.together(() => {
      note(1, 'one');
      throw new Error('no more');
    }),
  ).toThrow('no more');
  note(2, 'two');
  expect(await notes()).toEqual([{ place: 2, words: 'two' }]);
});
