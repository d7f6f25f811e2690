/**
 * What can be asked of the store: `writes.ts` names what changes it, `reads.ts` what only reads it. Each command runs
 * inside a transaction that it neither begins nor ends. Names and inputs cross the boundary of a thread, so an input is
 * one value that can be cloned.
 */
import assert from 'node:assert';
import * as READS from './reads.ts';
import type { StoreDatabase } from './schema.ts';
import * as WRITES from './writes.ts';

export { READS, WRITES };
export type Reads = typeof READS;
export type Writes = typeof WRITES;

/** One thing to ask. `never` admits a function of any input. */
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

/** Changes that no caller waits for. They may wait a moment for others, and share their commit. */
export const PATIENT: ReadonlySet<string> = new Set<keyof Writes>(['storeAttestation', 'postponeAttestation']);

/** Runs the command of this name with whatever crossed the boundary for it. */
export function runCommand(
  commands: Commands,
  { name, input }: { readonly name: string; readonly input: unknown },
  db: StoreDatabase,
): Promise<unknown> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  assert(command !== undefined, `the store has no command ${name}`);
  return command(db, input as never);
}
