/** The only thread of this process that changes the store. It brings the schema up to date before it reports that it is open. */
import { auditStore } from '../../access/audit.ts';
import { WRITES } from '../../commands.ts';
import { StoreError } from '../../store-error.ts';
import { portable } from '../../threads/messages.ts';
import type { SendReport, StoreThread } from '../../threads/store-thread.ts';
import type { Session } from '../connection.ts';
import { SchemaUpkeep } from '../migrations/schema-upkeep.ts';
import { STEPS } from '../migrations/steps.ts';
import { WritingSession } from '../writing-session.ts';
import { GroupCommit } from './group-commit.ts';
import type { PostgresThreadData } from './thread-data.ts';

export async function openWriter(data: PostgresThreadData, report: SendReport): Promise<StoreThread> {
  const { place, check, instance, steps = STEPS } = data;
  await using opening = new AsyncDisposableStack();
  const writing = opening.use(await WritingSession.open(place, {}, data));
  const session = await writing.current();
  const problem = await lossOnCrash(session);
  if (problem !== null) report({ kind: 'problem', error: portable(problem) });
  if (check === 'full') await auditStore(session.db);
  if (instance !== null && instance !== undefined) {
    const onProblem = (error: StoreError) => report({ kind: 'problem', error: portable(error) });
    opening.use(SchemaUpkeep.start({ url: place, steps, instance, onProblem }));
  }
  const group = new GroupCommit(writing, (answers) => report({ kind: 'answers', answers }));
  const resources = opening.move();
  return {
    names: Object.keys(WRITES),
    async work(waiting) {
      report({ kind: 'answers', answers: await group.take(waiting) });
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Why a crash of the database could lose commits; null if it cannot. Only the operator can turn on `fsync`. */
async function lossOnCrash(session: Session): Promise<StoreError | null> {
  const asked = { sql: `select current_setting('fsync') as fsync`, parameters: [] };
  const { rows } = await session.execute<{ fsync: string }>(asked);
  if (rows[0]?.fsync !== 'off') return null;
  return new StoreError('io', 'the database has fsync off: a crash of its host may lose acknowledged changes');
}
