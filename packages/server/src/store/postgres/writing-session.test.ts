import { expect, test } from 'vitest';
import { startPostgres } from '../../../../../test/rig/postgres-server.ts';
import { Session } from './connection.ts';
import { WritingSession } from './writing-session.ts';

test('a change undone by a server crash is known to be undone, even if the server reuses the transaction number', async () => {
  await using server = await startPostgres();
  await using writing = await WritingSession.open(server.url, {});
  const committed = await writing.begin(await writing.current(), []);
  await (await writing.current()).commit();
  const undone = await writing.begin(await writing.current(), []);
  // Until the commit, a transaction is only in the server's memory.
  await server.kill();
  await server.start();
  await writing.drop();
  if (committed === null || undone === null) throw new Error('the node is gone');
  expect(await writing.outcomeOf(undone)).toBe('aborted');
  await using other = await Session.open(server.url, {});
  for (let count = 0; count < 100; count++) {
    await other.execute({ sql: 'select pg_current_xact_id()', parameters: [] });
  }
  expect(await writing.outcomeOf(undone)).toBe('aborted');
});

test('a change is known to be committed or undone, or to be in progress until its session is over', async () => {
  await using server = await startPostgres();
  await using writing = await WritingSession.open(server.url, {});
  const session = await writing.current();
  const begun = async () => (await writing.begin(session, [])) ?? 0;
  const first = await begun();
  await session.commit();
  expect(await writing.outcomeOf(first)).toBe('committed');
  const second = await begun();
  await session.rollback();
  expect(await writing.outcomeOf(second)).toBe('aborted');
  await using lost = await Session.open(server.url, {});
  lost.begin();
  await lost.execute({ sql: 'update node_changes set number = $1', parameters: [second] });
  expect(await writing.outcomeOf(second)).toBe('in progress');
  await lost.commit();
  expect(await writing.outcomeOf(second)).toBe('committed');
});
