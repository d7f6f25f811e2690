/**
 * The commands of the store: those in `writes.ts` change it, those in `reads.ts` only read it. Each command runs inside a
 * transaction that the command neither begins nor ends. Names and inputs are sent to another thread, so an input is one value
 * that can be cloned.
 */
import assert from 'node:assert';
import * as READS from './reads.ts';
import type { StoreDatabase } from './schema.ts';
import * as WRITES from './writes.ts';

export { READS, WRITES };
export type Reads = typeof READS;
export type Writes = typeof WRITES;

/** One command. `never` admits a function of any input. */
export type Command = (db: StoreDatabase, input: never) => Promise<unknown>;
export type Commands = Readonly<Record<string, Command>>;

export type InputOf<Asked extends Command> = Asked extends (db: StoreDatabase, input: infer Input) => Promise<unknown>
  ? Input
  : never;
export type AnswerOf<Asked extends Command> = Awaited<ReturnType<Asked>>;

/** Commands as methods of one input, or of none. */
export type Methods<Known extends Commands> = {
  readonly [Name in keyof Known]: (
    ...input: unknown extends InputOf<Known[Name]> ? [] : [input: InputOf<Known[Name]>]
  ) => Promise<AnswerOf<Known[Name]>>;
};

/** Changes that find the rows of one ended job by its key, and change no counts. */
export const WITHOUT_TENANT: ReadonlySet<string> = new Set<keyof Writes>(['storeAttestation', 'postponeAttestation']);

/**
 * Changes that need not be on disk when they are answered. A later change relies on them, and the commit of that change puts them
 * on disk, too. Until then, their loss harms nobody.
 */
export const LAGGING: ReadonlySet<string> = new Set<keyof Writes>(['addPiece']);

/** Reads that make one query each, and so need no transaction to see one state of the store. */
export const OF_ONE_QUERY: ReadonlySet<string> = new Set<keyof Reads>([
  'jobSummary',
  'receiptOf',
  'outbox',
  'toolAnswers',
]);

/** Runs the command with this name, with the input that another thread sent. */
export function runCommand(
  commands: Commands,
  { name, input }: { readonly name: string; readonly input: unknown },
  db: StoreDatabase,
): Promise<unknown> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  assert(command !== undefined, `the store has no command ${name}`);
  return command(db, input as never);
}
