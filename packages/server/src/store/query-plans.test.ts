/**
 * Every query of the store finds its rows by an index: none reads the whole of a table that grows with the store. Looking for
 * another tenant's job takes no more queries or rows than looking for an unknown job.
 */
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { Kysely } from 'kysely';
import { expect, test } from 'vitest';
import { READS, runCommand, WRITES } from './commands.ts';
import { partsOf } from './history/output-run.ts';
import { job } from './jobs/jobs.ts';
import type { AttestationInput } from './records/inputs.ts';
import type { JobKey } from './records/rows.ts';
import type { StoreDatabase, Tables } from './schema.ts';
import { sqliteDialect } from './sqlite/dialect.ts';
import { migrate } from './sqlite/migrations/migrate.ts';
import { admission, at, attestationOf, EXECUTION, finishOf, newKey, SPEC, startOf, stdout } from './store.fixture.ts';

/**
 * Where reading a whole table is allowed: small tables, queries that only operators make, and scans that a bound stops early.
 */
const MAY_BE_READ_THROUGH = [
  /^SCAN tenants USING INDEX tenants_waiting$/,
  // This query reads any two rows.
  /^SCAN tenants USING COVERING INDEX tenants_by_turn$/,
  /^SEARCH tenants USING PRIMARY KEY \(tenant=\?\)$/,
  /^SEARCH queue USING INDEX queue_by_time \(tenant=\?\)$/,
  /^SCAN jobs USING (COVERING )?INDEX jobs_running$/,
  // Gradings that have not ended, since each takes a place in the queue, and the few queued jobs of each.
  /^SCAN CONSTANT ROW$/,
  /^(SCAN|SEARCH) gradings USING INDEX gradings_running( \(tenant=\?\))?$/,
  /^(SCAN|SEARCH) queue USING COVERING INDEX queue_tests( \(tenant=\?\))?$/,
  /^SCAN attestation_outbox USING (COVERING )?INDEX/,
  /^SCAN credentials$/,
  // When an operator reopens the log, every statement waits for a new place.
  /^SCAN log_(entries|pending)$/,
  // Statements that wait for a place, few at a time.
  /^SCAN log_entries USING INDEX log_entries_waiting$/,
  // Promises that wait for their signature, and promises that are due next.
  /^SCAN job_promises USING (COVERING )?INDEX job_promises_(unsigned|due)$/,
  /^SCAN log_pending USING INDEX log_pending_(unsigned|waiting)$/,
  // These indexes have only contents that still wait to be moved out of the store.
  /^SCAN (artifacts|attestations) USING (COVERING )?INDEX (artifacts|attestations)_large$/,
  // A principal has a bounded number of sessions.
  /^SEARCH sessions USING PRIMARY KEY \(tenant=\?\)$/,
  // A tenant has a bounded number of links.
  /^SEARCH job_links USING PRIMARY KEY \(tenant=\?\)$/,
  // A tenant has a bounded number of blobs.
  /^SEARCH blobs USING PRIMARY KEY \(tenant=\?\)$/,
  /^SEARCH credentials USING INDEX credentials_by_tenant \(tenant=\?\)$/,
];

/** The queries that are made only in a store that several nodes share. */
const OF_NODES: ReadonlySet<string> = new Set([
  'node',
  'orphanedJobs',
  'registerKey',
  'registeredKeys',
  'releaseJobs',
  'releaseOrphans',
  'takeQueuedJobs',
  'takenJobs',
]);

/** A step of a plan that looks at every row of a table, or at everything that a tenant has in it. */
const READS_THROUGH = /^SCAN|AUTOMATIC|\(tenant=\?\)/;

/** A database whose statements are prepared by `prepare`. */
function preparing(database: DatabaseSync, prepare: (text: string) => object): DatabaseSync {
  return new Proxy(database, {
    get: (target, name) => (name === 'prepare' ? prepare : (Reflect.get(target, name, target) as unknown)),
  });
}

/** A database that records every text that is prepared on it. */
function watched(database: DatabaseSync, texts: Set<string>): DatabaseSync {
  return preparing(database, (text) => {
    texts.add(text);
    return database.prepare(text);
  });
}

/** A database that records each query that is run on it, and how many rows the query found or changed. */
function counted(database: DatabaseSync, steps: [text: string, rows: number][]): DatabaseSync {
  return preparing(database, (text) => {
    const statement = database.prepare(text);
    return {
      columns: () => statement.columns(),
      setReturnArrays: (isOn: boolean) => statement.setReturnArrays(isOn),
      all(...parameters: SQLInputValue[]) {
        const rows = statement.all(...parameters);
        steps.push([text, rows.length]);
        return rows;
      },
      run(...parameters: SQLInputValue[]) {
        const done = statement.run(...parameters);
        steps.push([text, Number(done.changes)]);
        return done;
      },
    };
  });
}

/** One input for every command, in an order that gives each command something to do. */
function everyCommand(): [string, unknown][] {
  const key = newKey();
  const other = newKey();
  const caller = {
    tenant: 'acme',
    principal: 'p',
    auth_method: 'key',
    credential_id: 'c',
    scopes: [],
    expires_at: null,
  };
  const credential = { ...caller, secret_sha256: 's', created_at: at(0), revoked_at: null };
  const link = {
    job_id: key.job_id,
    link_id: 'l',
    secret_sha256: 's',
    shows: [],
    caller,
    created_at: at(0),
    expires_at: at(9_999),
  };
  const list = { tenant: 'acme', limit: 9, before: null, statuses: null, language: null };
  const attestation = attestationOf(key, 'r');
  const content = { ...key, position: 0 };
  const object = { tenant: 'acme', object_id: 'o', sha256: 's', size_bytes: 1 };
  const upload = { tenant: 'acme', blob_id: 'b', sha256: 'f'.repeat(64) };
  const named = { ...SPEC, files: [{ path: 'input/a', blob: `sha256:${upload.sha256}` }] };
  const output = { path: 'input/a', from: { job_id: key.job_id, path: 'p' } };
  const grading = {
    tenant: 'acme',
    grading_id: 'g',
    principal: 'p',
    created_at: at(0),
    common: '{}',
    programs: [{ head: '{}', content: '{}' }],
    tests: [{ head: '{}', content: '{}' }],
    blobs: [upload.sha256],
    held: [upload.sha256],
    idempotency: { key: 'k', spec_sha256: 's' },
    queueMax: 9,
    tenantQueueMax: 9,
  };
  const graded = { grading_id: 'g', program: 0, name: 'test 0', attempt: 1 };
  const calling = newKey();
  const tools = {
    tools: [{ name: 't', result: {} }],
    answered_by: ['p'],
    limits: { calls: 1, call_bytes: 99, total_bytes: 99 },
  };
  const call = { call: 1, tool: 't', arguments: {} };
  const answer = { ...calling, seq: 3, outcome: { result: 1 }, principal: 'p', at: at(1) };
  const large = newKey();
  const large_outputs = { paths: ['output/l'], stdout: null, max_bytes: 9 };
  const kept = { path: 'output/l', size_bytes: 1, sha256: 'e'.repeat(64), place: 0 };
  return [
    ['admit', admission({ ...large, requested_spec: { ...SPEC, large_outputs } })],
    ['start', startOf(large)],
    ['finish', finishOf(large, { execution: EXECUTION, largeOutputs: [kept] })],
    ['largeOutputs', large],
    ['largeOutputBlob', { tenant: 'acme', sha256: kept.sha256 }],
    ['admit', admission({ ...key, principal: 'p', idempotency: { key: 'k', spec_sha256: 'a'.repeat(64) } })],
    ['admit', admission(other)],
    ['beginUpload', { ...upload, size_bytes: 1, at: at(0), blobsMax: 9, bytesMax: 9 }],
    ['addPiece', { ...upload, position: 0, content: new Uint8Array(1) }],
    ['completeUpload', { ...upload, size_bytes: 1, at: at(0) }],
    ['beginUpload', { ...upload, blob_id: 'u', size_bytes: 1, at: at(0), blobsMax: 9, bytesMax: 9 }],
    ['completeUpload', { ...upload, blob_id: 'u', size_bytes: 1, at: at(0) }],
    ['dropUpload', upload],
    ['useBlob', { tenant: 'acme', sha256: upload.sha256, at: at(0) }],
    ['blob', upload],
    ['blobPiece', { ...upload, position: 0 }],
    ['inputs', { tenant: 'acme', files: [...named.files, output], key: 'k', mayReadJobs: true }],
    ['inputs', { tenant: 'acme', files: [{ ...output, blob: 'sha256:x' }], key: 'k', mayReadJobs: true }],
    ['admit', admission({ requested_spec: named })],
    ['specDigest', { tenant: 'acme', spec: named }],
    ['findByIdempotencyKey', { tenant: 'acme', key: 'k' }],
    ['productOf', { ...key, key: 'k', language: 'c', runtime: null, code: '' }],
    ['admit', admission({ ...newKey(), build_sha256: 'b'.repeat(64) })],
    ['admit', admission({ ...newKey(), build_sha256: 'b'.repeat(64) })],
    ['admitGrading', grading],
    ['findGradingByKey', { tenant: 'acme', key: 'k' }],
    ['gradingDigest', {}],
    ['admit', admission({ ...newKey(), graded })],
    ['admit', admission({ ...newKey(), graded })],
    ['grading', grading],
    ['gradings', { tenant: 'acme', limit: 9, before: null }],
    ['runningGradings', null],
    ['gradingWork', grading],
    ['gradingProgram', { ...grading, position: 0 }],
    ['gradingTests', { ...grading, from: 0, limit: 9 }],
    ['gradedEnd', key],
    ['requestGradingCancel', grading],
    ['endGradedJob', { ...grading, ...graded, job_id: 'j', test: null, terminal_reason: null, at: at(1), isRun: true }],
    ['endProgram', { ...grading, program: 0, status: 'cancelled', ended: '{}', held: [], at: at(1) }],
    ['gradingEvents', { ...grading, after: 0, limit: 9 }],
    ['deleteEndedGradings', { before: at(9_999), limit: 9 }],
    ['admit', admission({ start: { started_at: at(1), execution: EXECUTION } })],
    ['queuedJobs', { exclude: [], held: new Map(), limit: 2, tests: 2, slots: 8, tenantSlots: null }],
    ['counts', null],
    ['currentJobs', 'acme'],
    ['start', startOf(key)],
    ['append', { key, events: [stdout('a'), ...partsOf(Array.from({ length: 16 }, () => stdout('b')))] }],
    ['admit', admission({ ...calling, requested_spec: { ...SPEC, tools } })],
    ['start', startOf(calling)],
    ['append', { key: calling, events: [{ kind: 'tool_call', timestamp: at(1), data: call }] }],
    ['session', { tenant: 'acme', principal: 'p', name: 's' }],
    ['sessions', { tenant: 'acme', principal: 'p' }],
    ['removeSession', { tenant: 'acme', principal: 'p', name: 's' }],
    ['createLink', link],
    ['link', link.link_id],
    ['links', { ...key, now: at(1) }],
    ['linkedJob', { ...key, shows: ['code', 'input'], expires_at: at(9) }],
    ['linkShowsBlob', { ...key, shows: ['input', 'files'], sha256: '0'.repeat(64) }],
    ['revokeLink', { ...key, link_id: link.link_id }],
    ['openToolCalls', { ...calling, after: 0, principal: 'p' }],
    ['answerToolCall', answer],
    ['answerToolCall', { ...answer, isChecked: true }],
    ['answerToolCall', answer],
    ['toolAnswers', { ...calling, after: 0 }],
    ['runningJobs', null],
    ['requestCancel', { ...key, principal: 'p', at: at(1) }],
    ['requestCancel', { ...other, principal: 'p', at: at(1) }],
    [
      'finish',
      finishOf(key, {
        execution: EXECUTION,
        artifacts: [{ path: 'p', size_bytes: 1, sha256: 's', content: new Uint8Array(1) }],
      }),
    ],
    ['job', key],
    ['jobDetail', key],
    ['jobSummary', key],
    ['receiptOf', key],
    ['list', list],
    ['list', { ...list, statuses: ['failed'] }],
    ['list', { ...list, language: 'bash' }],
    ['list', { ...list, label: 'course 7' }],
    ['events', { key, after: 0, limit: 9 }],
    ['textExtent', { key, kind: 'events', after: 0, limit: 9 }],
    ['textExtent', { key, kind: 'stdout', after: 0, limit: 9 }],
    ['textPiece', { key, kind: 'events', from: 0, after: 0, until: 9 }],
    ['artifactRecords', key],
    ['artifactPiece', { key, path: 'p', offset: 0, bytes: 1 }],
    ['artifacts', key],
    ['contentsHere', { bytesMin: 1, limit: 9 }],
    ['contentHere', content],
    ['contentHere', { ...key, position: -1 }],
    ['objectCounts', { bytesMin: 1 }],
    ['beginObject', { ...object, at: at(1) }],
    ['beginObject', { ...object, object_id: 'p', at: at(1) }],
    ['placeObject', { ...content, ...object, version: '', at: at(1) }],
    ['placeObject', { ...content, ...object, position: -1, version: '', at: at(1) }],
    ['objectOf', content],
    ['objectOfArtifact', { key, path: 'p' }],
    ['condemnObjects', { at: at(1), begunBefore: at(1), limit: 9 }],
    ['postponeObject', { ...object, at: at(1) }],
    ['forgetObject', object],
    ['probe', null],
    ['outbox', { now: at(9_999), limit: 1 }],
    ['terminalRecords', { keys: [key], bytesMax: 9 }],
    ['postponeAttestation', { ...key, due_at: null, error: 'e', at: at(1) }],
    ['resumeAttestations', at(1)],
    ['storeAttestation', attestation],
    ['openLog', { host: 'h', tree: 1, log_key: 'k', opening: new Uint8Array(), body: new Uint8Array() }],
    ['sequenceLog', { tree: 1, size: 1, most: 9 }],
    ['storeLogHead', { tree: 1, size: 2, checkpoint: 'c', rekor_head: 'r' }],
    ['closeLog', null],
    [
      'reopenLog',
      { from: 1, opening: { host: 'h', tree: 2, log_key: 'k', opening: new Uint8Array(), body: new Uint8Array() } },
    ],
    ['logState', null],
    ['logCounts', null],
    ['logPlace', key],
    ['logPosition', new Uint8Array(32)],
    ['logRanges', [{ start: 0, end: 1 }]],
    ['logTile', { level: 0, index: 0, width: 2 }],
    ['unsignedPromises', { limit: 9 }],
    ['storePromises', { promises: [{ ...key, key_id: 'k', envelope: new Uint8Array(1) }] }],
    ['jobPromise', key],
    ['nextPromiseDue', null],
    ['drawPending', { now: at(9_999), answer_by: at(1), due_at: at(1), limit: 9 }],
    ['unsignedPending', { limit: 9 }],
    [
      'storePending',
      {
        statements: [{ ...key, statement: 1, key_id: 'k', envelope: new Uint8Array(1), leaf_hash: new Uint8Array(32) }],
      },
    ],
    ['pendingOf', { key, limit: 9 }],
    ['attestation', { key, part: 'envelope' }],
    ['attestation', { key, part: 'result_artifact' }],
    ['resultOf', { stored: new Uint8Array(), row: attestation }],
    ['withdrawAttestation', { ...key, error: 'e', at: at(1) }],
    ['createCredential', { ...credential, credential_id: 'c' }],
    ['credential', 'c'],
    ['credentials', null],
    ['credentials', 'acme'],
    ['revokeCredential', { credential_id: 'c', at: at(1) }],
    ['rotateCredential', { credential_id: 'c', at: at(1), successor: { ...credential, credential_id: 'd' } }],
    ['storeTicket', { ticket_sha256: 't', job_id: key.job_id, caller, created_at: at(0), expires_at: at(1) }],
    ['consumeTicket', { ticket_sha256: 't', job_id: key.job_id, now: at(0) }],
    ['deleteEnded', { before: at(9_999), limit: 9, unattested: 'kept' }],
    ['deleteEnded', { before: at(9_999), limit: 9, unattested: 'removed' }],
    ['deleteEnded', { before: at(9_999), limit: 9, unattested: 'logged' }],
    ['removeUnusedBlobs', { unusedSince: at(1), begunBefore: at(1), limit: 9 }],
  ];
}

async function ask(db: StoreDatabase, name: string, input: unknown): Promise<unknown> {
  const commands = Object.hasOwn(WRITES, name) ? WRITES : READS;
  return runCommand(commands, { name, input }, db);
}

test('no query scans a table that grows with the store', async () => {
  using database = new DatabaseSync(':memory:');
  const texts = new Set<string>();
  const db = new Kysely<Tables>({ dialect: sqliteDialect(watched(database, texts)) });
  await migrate({ database, db });
  texts.clear();
  const commands = everyCommand();
  for (const [name, input] of commands) await ask(db, name, await withReceipt(db, name, input));
  const asked = new Set([...Object.keys(WRITES), ...Object.keys(READS)].filter((name) => !OF_NODES.has(name)));
  expect(new Set(commands.map(([name]) => name))).toEqual(asked);
  expect(texts.size).toBeGreaterThan(50);
  const plans = [...texts].flatMap((text) =>
    database
      .prepare(`explain query plan ${text}`)
      .all()
      .map((step) => ({ text, step: String(step['detail']) })),
  );
  const through = plans
    .filter(({ step }) => READS_THROUGH.test(step))
    .filter(({ step }) => !MAY_BE_READ_THROUGH.some((known) => known.test(step)));
  expect(through).toEqual([]);
});

test('a list by label and status reads only jobs that match both, however many jobs have only the label', async () => {
  using database = new DatabaseSync(':memory:');
  const steps: [text: string, rows: number][] = [];
  const db = new Kysely<Tables>({ dialect: sqliteDialect(counted(database, steps)) });
  await migrate({ database, db });
  const requested_spec = { ...SPEC, labels: ['course 7'] };
  for (let number = 0; number < 8; number++) {
    const key = newKey();
    await ask(db, 'admit', admission({ ...key, requested_spec }));
    await ask(db, 'start', startOf(key));
    await ask(db, 'finish', finishOf(key));
  }
  steps.length = 0;
  const listed = { tenant: 'acme', limit: 1, before: null, language: null, label: 'course 7' };
  expect(await ask(db, 'list', { ...listed, statuses: ['running', 'failed'] })).toEqual({ items: '[]', next: null });
  const queries = new Set(steps.map(([text]) => text));
  expect(queries.size).toBe(2);
  for (const text of queries) {
    const found = database.prepare(`explain query plan ${text}`).all();
    const byEnd = /job_labels USING (COVERING )?INDEX job_labels_by_end \(tenant=\? AND label=\? AND ended=\? AND/;
    expect(found[0]?.['detail']).toMatch(byEnd);
  }
});

/** An attestation must name the digest of the stored receipt. */
async function withReceipt(db: StoreDatabase, name: string, input: unknown): Promise<unknown> {
  if (name !== 'storeAttestation') return input;
  return { ...(input as AttestationInput), receipt_sha256: (await job(db, input as JobKey))?.receipt_sha256 };
}

/** The input with this key in place of the job's own; null if the input does not name a job by its key. */
function withKey(input: unknown, key: JobKey): unknown {
  if (typeof input !== 'object' || input === null) return null;
  if ('key' in input && typeof input.key === 'object') return { ...input, key };
  if ('caller' in input)
    return { ...input, job_id: key.job_id, caller: { ...(input.caller as object), tenant: key.tenant } };
  return 'tenant' in input && 'job_id' in input ? { ...input, ...key } : null;
}

test('reading the job of another tenant takes the same queries and rows as reading an unknown job', {
  tags: ['AUTH-07'],
}, async () => {
  using database = new DatabaseSync(':memory:');
  const steps: [text: string, rows: number][] = [];
  const db = new Kysely<Tables>({ dialect: sqliteDialect(counted(database, steps)) });
  await migrate({ database, db });
  const work = async (name: string, input: unknown) => {
    steps.length = 0;
    database.exec('savepoint tried');
    const answer = await ask(db, name, input).catch((error: Error) => error.message);
    database.exec('rollback to tried; release tried');
    return { name, answer, steps: [...steps] };
  };
  const asForeign: unknown[] = [];
  const asUnknown: unknown[] = [];
  for (const [name, input] of everyCommand()) {
    const { job_id } = ((input as { key?: JobKey } | null)?.key ?? input ?? {}) as Partial<JobKey>;
    const foreign = withKey(input, { tenant: 'other', job_id: String(job_id) });
    // The id of a job to admit is always new, so `admit` is left out.
    if (foreign !== null && name !== 'admit') {
      asForeign.push(await work(name, foreign));
      asUnknown.push(await work(name, withKey(input, newKey('other'))));
    }
    await ask(db, name, await withReceipt(db, name, input));
  }
  expect(asForeign.length).toBeGreaterThan(15);
  expect(asForeign).toEqual(asUnknown);
});
