/**
 * Everything that can be asked of the store, by name: what changes it and what only reads it. Each function runs inside
 * a transaction that it neither begins nor ends. Names and inputs cross the boundary of a thread, so an input is one
 * value that can be cloned.
 */
import assert from 'node:assert';
import { createCredential, credential, credentials, revokeCredential, rotateCredential } from './access/credentials.ts';
import { consumeTicket, storeTicket } from './access/tickets.ts';
import {
  attestation,
  outbox,
  postponeAttestation,
  resumeAttestations,
  storeAttestation,
  withdrawAttestation,
} from './evidence/attestations.ts';
import { artifacts, finishWithResult } from './evidence/outcomes.ts';
import { deleteEnded } from './evidence/retention.ts';
import { counts, probe } from './health.ts';
import { append, events } from './history/events.ts';
import { admit, findByIdempotencyKey } from './jobs/admission.ts';
import { requestCancel } from './jobs/cancellation.ts';
import { currentJobs } from './jobs/current-jobs.ts';
import { job, jobSummary, runningJobs, start } from './jobs/jobs.ts';
import { queuedJobs } from './jobs/queue.ts';
import { specDigest } from './jobs/spec-digest.ts';
import { jobDetail } from './reading/job-detail.ts';
import { list } from './reading/listing.ts';
import { artifactPiece, artifactRecords, textExtent, textPiece } from './reading/long-texts.ts';
import { terminalRecords } from './reading/terminal-records.ts';
import type { LedgerDatabase } from './schema.ts';

/** One thing to ask. `never` admits a function of any input. */
export type Command = (db: LedgerDatabase, input: never) => Promise<unknown>;
export type Commands = Readonly<Record<string, Command>>;

export type InputOf<Asked extends Command> = Asked extends (db: LedgerDatabase, input: infer Input) => Promise<unknown>
  ? Input
  : never;
export type AnswerOf<Asked extends Command> = Awaited<ReturnType<Asked>>;

/** Commands whose transaction is on disk before anyone is answered. */
export const WRITES = {
  admit,
  start,
  append,
  finish: finishWithResult,
  requestCancel,
  probe,
  postponeAttestation,
  resumeAttestations,
  storeAttestation,
  withdrawAttestation,
  createCredential,
  revokeCredential,
  rotateCredential,
  storeTicket,
  consumeTicket,
  deleteEnded,
} as const satisfies Commands;
export type Writes = typeof WRITES;

/** Changes that no caller waits for. They may wait a moment for others, and share their commit. */
export const PATIENT: ReadonlySet<string> = new Set<keyof Writes>(['storeAttestation', 'postponeAttestation']);

/** Queries that see every write that was answered before they were asked. */
export const READS = {
  specDigest,
  findByIdempotencyKey,
  queuedJobs,
  runningJobs,
  job,
  jobDetail,
  jobSummary,
  list,
  events,
  textExtent,
  textPiece,
  artifactRecords,
  artifactPiece,
  artifacts,
  counts,
  currentJobs,
  outbox,
  terminalRecords,
  attestation,
  credential,
  credentials,
} as const satisfies Commands;
export type Reads = typeof READS;

/** Runs the command of this name with whatever crossed the boundary for it. */
export function runCommand(
  commands: Commands,
  { name, input }: { readonly name: string; readonly input: unknown },
  db: LedgerDatabase,
): Promise<unknown> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  assert(command !== undefined, `the store has no command ${name}`);
  return command(db, input as never);
}
