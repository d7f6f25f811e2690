/**
 * The only thread that changes the store, in the only service that holds the file. It brings the schema up to date
 * before it reports that it is open.
 */
import { auditLedger } from '../../access/audit.ts';
import { PATIENT, runCommand, WRITES } from '../../commands.ts';
import { probe, probes } from '../../health.ts';
import { migrate, SCHEMA_NAME } from '../../migrations/migrate.ts';
import type { LedgerDatabase } from '../../schema.ts';
import { checkFile } from '../check-file.ts';
import { openForWriting, prepareFile } from '../connection.ts';
import { keepOlderLedger } from '../copy-ledger.ts';
import { Checkpoints, type LogLength } from '../files/checkpoints.ts';
import { LedgerLock } from '../files/ledger-lock.ts';
import { LogMark } from '../files/log-mark.ts';
import { GroupCommit } from './group-commit.ts';
import type { LedgerThread, SendReport } from './ledger-thread.ts';
import { portable, type ThreadData } from './messages.ts';

export async function openWriter({ path, check }: ThreadData, report: SendReport): Promise<LedgerThread> {
  using opening = new DisposableStack();
  prepareFile(path);
  const lock = opening.use(new LedgerLock(path));
  const { database, ledger } = opening.use(openForWriting(path));
  const checkpoints = new Checkpoints(database);
  const mark = opening.use(new LogMark(path, { forget: lock.isNew }));
  mark.expect(checkpoints.length().log);
  checkFile(database, check);
  const older = `${path}.before-${SCHEMA_NAME}`;
  await migrate(ledger, { beforeUpgrade: () => keepOlderLedger(database, older) });
  lock.expect(await probes(ledger));
  if (check === 'full') await auditLedger(ledger);
  await advance(ledger, lock);
  const group = new GroupCommit(database, (call) => runCommand(WRITES, call, ledger));
  const resources = opening.move();
  return {
    names: Object.keys(WRITES),
    isPatient: ({ name }) => PATIENT.has(name),
    async work(waiting) {
      const answers = await group.take(waiting);
      // Before anyone is answered: what was acknowledged is missed if it is ever lost.
      const length = await reportTrouble(report, async () => markLength(checkpoints, mark));
      report({ kind: 'answers', answers });
      await reportTrouble(report, async () => {
        if (checkpoints.moveIfLong(length)) await advance(ledger, lock);
      });
    },
    async [Symbol.asyncDispose]() {
      await reportTrouble(report, async () => checkpoints.moveAll());
      resources.dispose();
    },
  };
}

/**
 * Commits a step that the lock then remembers. After each checkpoint the log so holds something that the database
 * lacks, and a log that is removed is missed.
 */
async function advance(ledger: LedgerDatabase, lock: LedgerLock): Promise<void> {
  await probe(ledger);
  lock.remember(await probes(ledger));
}

/** A checkpoint that fails loses nothing: the log keeps what it holds. Operators should know of it. */
async function reportTrouble<Found>(report: SendReport, upkeep: () => Promise<Found>): Promise<Found | undefined> {
  try {
    return await upkeep();
  } catch (thrown) {
    report({ kind: 'trouble', error: portable(thrown) });
    return undefined;
  }
}

function markLength(checkpoints: Checkpoints, mark: LogMark): LogLength {
  const length = checkpoints.length();
  mark.remember(length.log);
  return length;
}
