/**
 * The only thread that changes the store, in the only service that holds the file. It brings the schema up to date before it
 * reports that it is open.
 */
import type { DatabaseSync } from 'node:sqlite';
import { auditStore } from '../../access/audit.ts';
import { LAGGING, runCommand, WRITES } from '../../commands.ts';
import { probe, probes } from '../../health.ts';
import type { StoreDatabase } from '../../schema.ts';
import { StoreError } from '../../store-error.ts';
import { portable, type StoreCheck, type ThreadData } from '../../threads/messages.ts';
import type { SendReport, StoreThread } from '../../threads/store-thread.ts';
import { openForWriting, prepareFile } from '../connection.ts';
import { keepOlderStore } from '../copy-store.ts';
import { storeErrorOf } from '../error.ts';
import { Checkpoints, type LogLength } from '../files/checkpoints.ts';
import { LogMark } from '../files/log-mark.ts';
import { StoreLock } from '../files/store-lock.ts';
import { migrate, SCHEMA_NAME } from '../migrations/migrate.ts';
import { GroupCommit } from './group-commit.ts';

export async function openWriter({ place: path, check }: ThreadData, report: SendReport): Promise<StoreThread> {
  using opening = new DisposableStack();
  prepareFile(path);
  const lock = opening.use(new StoreLock(path));
  const connection = opening.use(openForWriting(path));
  const { database, db } = connection;
  const checkpoints = new Checkpoints(database);
  const mark = opening.use(new LogMark(path, { forget: lock.isNew }));
  mark.expect(checkpoints.length().log);
  checkFile(database, check);
  const older = `${path}.before-${SCHEMA_NAME}`;
  await migrate(connection, { beforeUpgrade: () => keepOlderStore(database, older) });
  lock.expect(await probes(db));
  if (check === 'full') await auditStore(db);
  await advance(db, lock);
  const group = new GroupCommit(
    database,
    (call) => runCommand(WRITES, call, db),
    ({ name }) => LAGGING.has(name),
  );
  const resources = opening.move();
  return {
    names: Object.keys(WRITES),
    async work(waiting) {
      const answers = await group.take(waiting);
      // The length is marked before any caller is answered, so that the loss of an acknowledged change is noticed.
      const length = await reportProblem(report, async () => markLength(checkpoints, mark, group));
      report({ kind: 'answers', answers });
      await reportProblem(report, async () => {
        if (checkpoints.moveIfLong(length)) await advance(db, lock);
      });
    },
    async [Symbol.asyncDispose]() {
      await reportProblem(report, async () => checkpoints.moveAll());
      resources.dispose();
    },
  };
}

/**
 * Changes one row; the lock's file then remembers how often this was ever done. So after each checkpoint, the log has a change
 * that the database lacks, and the next start notices if the log was removed.
 */
async function advance(db: StoreDatabase, lock: StoreLock): Promise<void> {
  await probe(db);
  lock.remember(await probes(db));
}

/** Reports a failed checkpoint to the operator. The failure loses nothing, because the log keeps its content. */
async function reportProblem<Found>(report: SendReport, upkeep: () => Promise<Found>): Promise<Found | undefined> {
  try {
    return await upkeep();
  } catch (thrown) {
    report({ kind: 'problem', error: portable(storeErrorOf(thrown)) });
    return undefined;
  }
}

function markLength(checkpoints: Checkpoints, mark: LogMark, { hasLagged }: GroupCommit): LogLength {
  const length = checkpoints.length();
  mark.remember(length.log, { hasLagged });
  return length;
}

/** Runs the checks of SQLite, https://www.sqlite.org/pragma.html. @throws StoreError `corrupt` with the first problem */
function checkFile(database: DatabaseSync, check: StoreCheck): void {
  if (check === 'off') return;
  const pragma = check === 'full' ? 'integrity_check' : 'quick_check';
  const found = Object.values(database.prepare(`pragma ${pragma}(1)`).get() ?? {})[0];
  if (found !== 'ok') throw new StoreError('corrupt', `the store is damaged: ${String(found).replace(/\s+/g, ' ')}`);
  if (check === 'full' && database.prepare('pragma foreign_key_check').get() !== undefined) {
    throw new StoreError('corrupt', 'the store is damaged: it has rows of jobs that do not exist');
  }
}
