/**
 * One connection to the store's file, set up so that a commit is on disk when it returns: write-ahead log,
 * `synchronous=FULL`. The writer's connection creates the file; the reader's cannot change it.
 */
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import { syncDirectory } from '../../ground/durably.ts';
import { makeDirectories } from '../../ground/make-directories.ts';
import type { StoreDatabase, Tables } from '../schema.ts';
import { StoreError } from '../store-error.ts';
import { openDatabase } from './database.ts';
import { sqliteDialect } from './dialect.ts';
import { ownFile } from './files/own-file.ts';

/** A log that is longer than this is cut to this length when it starts again. */
const walBytesKept = 16 * 1024 * 1024;

/** File systems on which a write-ahead log is not safe, keyed by the number that statfs reports. */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x517b, 'SMB'],
]);

/** An open connection, and the query builder on it. Disposing closes the connection. */
export interface Connection extends Disposable {
  readonly database: DatabaseSync;
  readonly db: StoreDatabase;
}

/** Opens an existing file for writing. */
export function openForWriting(path: string): Connection {
  const connection = connect(path, { readOnly: false });
  const { database } = connection;
  database.exec('pragma journal_mode = wal');
  database.exec('pragma synchronous = full');
  database.exec('pragma wal_autocheckpoint = 0');
  // Sorted rows, and the changes that a statement may have to undo, stay in memory instead of going to separate files.
  database.exec('pragma temp_store = memory');
  database.exec(`pragma journal_size_limit = ${walBytesKept}`);
  return connection;
}

/** Opens an existing file for reading. */
export function openForReading(path: string): Connection {
  return connect(path, { readOnly: true });
}

function connect(path: string, { readOnly }: { readOnly: boolean }): Connection {
  const database = openDatabase(path, { readOnly });
  const db = new Kysely<Tables>({ dialect: sqliteDialect(database) });
  return { database, db, [Symbol.dispose]: () => database.close() };
}

/** Creates the file and its directory if they are missing, readable only by their owner. */
export function prepareFile(path: string): void {
  const directory = dirname(path);
  makeDirectories(directory, 0o700);
  const fileSystem = NETWORK_FILE_SYSTEMS.get(statfsSync(directory).type);
  if (fileSystem !== undefined) {
    throw new StoreError('unopenable', `it is on ${fileSystem}, where commits are not safe: use a local disk`);
  }
  ownFile(path);
  syncDirectory(directory);
}
