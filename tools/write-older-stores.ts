/**
 * Writes stores of older versions as readable SQL, for the tests of upgrades. A store of a contract's version is also written as
 * the file that the version would have left. This program ran when a schema was new. What it wrote stays unchanged. `node
 * tools/write-older-stores.ts v0.3` writes only that store.
 */
import { execFileSync } from 'node:child_process';
import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import {
  attest,
  canonicalJson,
  chainEvents,
  type EnvelopeSigner,
  GENESIS_HASH,
  keyIdOf,
  outputEvidence,
  sha256Hex,
} from '@vouchbox/evidence';
import type { EventBody, JobEvent, TerminalStatus } from '@vouchbox/protocol';
import { type OpenStoreOptions, openStore } from '../packages/server/src/store/open-store.ts';
import { newSchema } from '../packages/server/src/store/postgres/schema.fixture.ts';
import { openForWriting } from '../packages/server/src/store/sqlite/connection.ts';
import { migrate } from '../packages/server/src/store/sqlite/migrations/migrate.ts';
import { admitJob, finishOf, SPEC, startOf, stdout } from '../packages/server/src/store/store.fixture.ts';
import type { Store } from '../packages/server/src/store/store.ts';
import { postgresCommands, startPostgres } from '../test/rig/postgres-server.ts';

const target = new URL('../packages/server/src/store/sqlite/migrations/fixtures/', import.meta.url);
const onPostgres = new URL('../packages/server/src/store/postgres/migrations/fixtures/', import.meta.url);

/** The time of an event in these databases, given in seconds after the first event. */
const at = (second: number) => new Date(Date.UTC(2025, 2, 1, 12) + second * 1000).toISOString();

type Row = Readonly<Record<string, SQLInputValue>>;

function insert(database: DatabaseSync, table: string, row: Row): void {
  const names = Object.keys(row);
  const places = names.map(() => '?').join(', ');
  database.prepare(`insert into ${table} (${names.join(', ')}) values (${places})`).run(...Object.values(row));
}

/** Writes events of v0.1. Each says only what happened. */
function plainEvents(database: DatabaseSync, job_id: string, events: readonly [string, object][], from = 0): void {
  for (const [index, [kind, data]] of events.entries()) {
    const row = { job_id, seq: index + 1, timestamp: at(from + index), kind, data: JSON.stringify(data) };
    insert(database, 'events', row);
  }
}

const finished = (status: string, exit_code: number | null) => ['finished', { status, exit_code }] as [string, object];

function firstRelease(database: DatabaseSync): void {
  const job = { tenant: 'acme', language: 'python', stdin: null, limits: '{}', started_at: null, finished_at: null };
  const old = (row: Row) => insert(database, 'jobs', { ...job, exit_code: null, ...row });
  const queued: [string, object] = ['queued', {}];
  const started: [string, object] = ['started', {}];
  old({
    job_id: 'job_09',
    status: 'succeeded',
    code: "print('first')",
    stdin: 'ignored',
    limits: '{"wall_seconds":5}',
    created_at: at(0),
    started_at: at(1),
    finished_at: at(4),
    exit_code: 0,
  });
  plainEvents(database, 'job_09', [
    queued,
    started,
    ['stdout', { text: 'first' }],
    ['stderr', { text: 'é' }],
    finished('succeeded', 0),
  ]);
  const code = 'exit 3';
  const failed = { status: 'failed', language: 'bash', code, exit_code: 3 };
  old({ job_id: 'job_02', tenant: 'umbrella', ...failed, created_at: at(5), started_at: at(6), finished_at: at(7) });
  plainEvents(database, 'job_02', [queued, started, finished('failed', 3)], 5);
  old({ job_id: 'job_01', status: 'cancelled', code: 'while True: pass', created_at: at(8), finished_at: at(9) });
  plainEvents(database, 'job_01', [queued, ['truncated', { stream: 'stdout' }], finished('cancelled', null)], 8);
  old({ job_id: 'job_zz', status: 'queued', language: 'bash', code: 'echo after the upgrade', created_at: at(10) });
  plainEvents(database, 'job_zz', [queued], 10);
  const limits = '{"mem_mb":128}';
  old({
    job_id: 'job_04',
    status: 'running',
    language: 'node',
    code: '1',
    limits,
    created_at: at(11),
    started_at: at(12),
  });
  plainEvents(database, 'job_04', [queued, started, ['stdout', { text: 'half' }]], 11);
}

/** Signs as the service then did. Only these fixtures use this key. */
function fixtureSigner(): EnvelopeSigner {
  const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 7)]);
  const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
  const key_id = keyIdOf(createPublicKey(key).export({ format: 'der', type: 'spki' }));
  return { key_id, sign: (message) => new Uint8Array(sign(null, message, key)) };
}

interface Story {
  readonly job_id: string;
  readonly second: number;
  readonly tenant?: string;
  readonly status?: TerminalStatus;
  readonly exit_code?: number;
  /** Whether the receipt names the tenant. */
  readonly withTenant?: boolean;
  readonly row?: Row;
}

/** Writes a job that ran and ended under v0.3, with that version's chain and receipt. */
function endedJob(database: DatabaseSync, story: Story) {
  const { job_id, second, tenant = 'acme', status = 'succeeded', exit_code = 0, withTenant = false, row = {} } = story;
  const times = { created_at: at(second), started_at: at(second + 1), finished_at: at(second + 3) };
  const outcome = { status, exit_code, signal: null, terminal_reason: 'exited', duration_ms: 2000 } as const;
  insert(database, 'jobs', {
    job_id,
    tenant,
    language: 'python',
    code: `print('${job_id}')`,
    stdin: null,
    files: '[]',
    outputs: '[]',
    requirements: '{"minimum_isolation":"none"}',
    limits: '{"wall_seconds":5,"mem_mb":128}',
    ...outcome,
    ...times,
    ...row,
  });
  const bodies = [
    { kind: 'queued', timestamp: times.created_at, data: { language: 'python' } },
    { kind: 'started', timestamp: times.started_at, data: {} },
    { kind: 'stdout', timestamp: at(second + 2), data: { text: job_id } },
    { kind: 'finished', timestamp: times.finished_at, data: outcome },
  ] as unknown as EventBody[];
  const events = hashedEvents(database, job_id, bodies);
  const unsealed = {
    schema_version: 3,
    job_id,
    ...(withTenant && { tenant }),
    ...outcome,
    ...times,
    code_sha256: sha256Hex(`print('${job_id}')`),
    stdin_sha256: null,
    truncated: false,
    output: outputEvidence(events),
    event_chain: { hash_version: 1, genesis: GENESIS_HASH, head: events.at(-1)?.event_hash, count: 4, complete: true },
  };
  const receipt_sha256 = sha256Hex(canonicalJson(unsealed));
  const receipt = { ...unsealed, receipt_sha256 };
  insert(database, 'receipts', { job_id, receipt_json: canonicalJson(receipt), receipt_sha256 });
  const job = { tenant, job_id, ...outcome, ...times, truncated: false, receipt_sha256 };
  return { job, receipt, events };
}

function hashedEvents(database: DatabaseSync, job_id: string, bodies: readonly EventBody[]): readonly JobEvent[] {
  const events = chainEvents({ job_id, seq: 0, head: GENESIS_HASH }, bodies);
  for (const { data, ...event } of events) {
    insert(database, 'events', { ...event, data: JSON.stringify(data) });
  }
  return events;
}

function attested(database: DatabaseSync, story: Story, links: Row = {}): void {
  const record = endedJob(database, story);
  const made = attest({ ...record, kept: { salt: null, tenant_number: null } }, fixtureSigner());
  if (made.kind !== 'attested') throw new Error(JSON.stringify(made));
  const { key_id, result, result_sha256, envelope, envelope_sha256 } = made.attestation;
  const { tenant, job_id, receipt_sha256, finished_at } = record.job;
  const whole = { tenant, receipt_sha256, result_sha256, envelope_sha256 };
  const stored = { result_artifact: result, envelope, created_at: finished_at };
  insert(database, 'attestations', { job_id, key_id, ...whole, ...stored, ...links });
}

function secondRelease(database: DatabaseSync): void {
  endedJob(database, { job_id: 'job_f0c1', second: 100 });
  const content = Buffer.from('kept\n');
  insert(database, 'artifacts', {
    job_id: 'job_f0c1',
    position: 0,
    path: 'output/kept.txt',
    size_bytes: content.length,
    sha256: sha256Hex(content),
    content,
  });
  attested(database, { job_id: 'job_a1b2', second: 110, withTenant: true });
  attested(
    database,
    { job_id: 'job_b2c3', second: 120, tenant: 'umbrella', status: 'failed', exit_code: 1 },
    { tenant: null },
  );
  attested(database, { job_id: 'job_c3d4', second: 130 }, { receipt_sha256: null });
  attested(database, { job_id: 'job_d4e5', second: 140 }, { result_sha256: null, envelope_sha256: null });
  attested(database, { job_id: 'job_e5f6', second: 150 }, { receipt_sha256: 'ab'.repeat(32) });
  const job = {
    tenant: 'acme',
    language: 'python',
    stdin: 'hé',
    files: '[{"path":"input/a","content_base64":"YQ=="}]',
    outputs: '["output/b"]',
    requirements: '{"minimum_isolation":"none"}',
    limits: '{"cpu_seconds":2}',
  };
  const code = "import shutil, sys; shutil.copy('input/a', 'output/b'); print(sys.stdin.read())";
  insert(database, 'jobs', { ...job, job_id: 'job_07aa', status: 'queued', code, created_at: at(160) });
  const queued = { kind: 'queued', timestamp: at(160), data: {} } as unknown as EventBody;
  hashedEvents(database, 'job_07aa', [queued]);
  const key = { tenant: 'acme', idempotency_key: 'once', job_id: 'job_07aa', spec_sha256: 'cd'.repeat(32) };
  insert(database, 'idempotency_keys', key);
  const running = { ...job, job_id: 'job_00bb', status: 'running', code, created_at: at(170), started_at: at(171) };
  insert(database, 'jobs', { ...running, cancellation_requested: 1 });
  const started = { kind: 'started', timestamp: at(171), data: {} } as unknown as EventBody;
  hashedEvents(database, 'job_00bb', [{ ...queued, timestamp: at(170) }, started]);
}

const ofNumber = (number: number) => ({ tenant: 'acme', job_id: `job_01955f8e-0000-7000-8000-00000000000${number}` });

/** Writes a store with the present schema, of either kind. */
async function present(options: OpenStoreOptions): Promise<void> {
  await using store = await openStore(options);
  await admitJob(store, { ...ofNumber(1), idempotency: { key: 'once', spec_sha256: 'ef'.repeat(32) } });
  await store.start(startOf(ofNumber(1)));
  await store.append(ofNumber(1), [stdout('hé')]);
  await store.finish(finishOf(ofNumber(1)));
  await admitJob(store, ofNumber(2));
  await store.start(startOf(ofNumber(2)));
  await admitJob(store, ofNumber(3));
  await admitJob(store, ofNumber(4));
  await store.start(startOf(ofNumber(4)));
  // The store keeps this many lines as one run of output.
  const lines = Array.from({ length: 40 }, (_, line) => stdout(`line ${line} é`));
  await store.finish(finishOf(ofNumber(4), { events: lines }));
  await upload(store);
  await moveOne(store);
}

/** Adds an uploaded file that a queued job names, and an unfinished upload. */
async function upload(store: Store): Promise<void> {
  const content = Buffer.from('uploaded');
  const begun = { tenant: 'acme', sha256: sha256Hex(content), size_bytes: content.length, at: at(5) };
  for (const blob_id of ['whole', 'half']) {
    await store.beginUpload({ ...begun, blobsMax: 9, bytesMax: 99, blob_id });
    await store.addPiece({ tenant: 'acme', blob_id, position: 0, content });
  }
  await store.completeUpload({ ...begun, blob_id: 'whole' });
  const files = [{ path: 'input/a', blob: `sha256:${begun.sha256}` }];
  await admitJob(store, { ...ofNumber(5), requested_spec: { ...SPEC, files } });
}

/** Moves one artifact to an object store, and leaves another that has yet to be moved. */
async function moveOne(store: Store): Promise<void> {
  for (const number of [6, 7]) {
    const key = ofNumber(number);
    await admitJob(store, key);
    await store.start(startOf(key));
    const content = new Uint8Array(16).fill(number);
    const described = { size_bytes: content.length, sha256: sha256Hex(content) };
    await store.finish(finishOf(key, { artifacts: [{ path: 'output/a', ...described, content }] }));
    const object = { tenant: 'acme', object_id: `object-${number}`, ...described };
    await store.beginObject({ ...object, at: at(6) });
    if (number === 6) await store.placeObject({ ...key, ...object, position: 0, version: '', at: at(7) });
  }
}

/** The whole content of a database as SQL, without what SQLite itself makes. */
function dump(database: DatabaseSync): string {
  const objects = database
    .prepare("select name, type, sql from sqlite_master where sql is not null order by type = 'index', rootpage")
    .all() as { name: string; type: string; sql: string }[];
  const lines = objects.map(({ sql }) => `${sql};`);
  for (const { name } of objects.filter(({ type }) => type === 'table')) {
    const columns = database.prepare(`select name from pragma_table_info('${name}')`).all();
    const names = columns.map((column) => `"${String(column['name'])}"`);
    const values = names.map((column) => `quote(${column})`).join(" || ', ' || ");
    const rows = database.prepare(`select ${values} as text from "${name}"`).all();
    for (const { text } of rows) lines.push(`insert into "${name}" values (${String(text)});`);
  }
  return `${lines.join('\n')}\n`;
}

/** Writes a database. SQLite took the times of the schema's steps from the clock, so a fixed older time replaces them. */
function store(name: string, path: string): void {
  using database = new DatabaseSync(path);
  database.exec(`update schema_history set timestamp = '${at(0)}'`);
  database.exec('pragma journal_mode = delete; vacuum');
  writeFileSync(new URL(`${name}.sql`, target), dump(database));
  if (name === 'v4') return;
  const file = new URL(`${name}.db`, target).pathname;
  rmSync(file, { force: true });
  database.exec(`vacuum into '${file}'`);
}

/** Writes a store on PostgreSQL as `pg_dump` prints its schema, but without the schema's name. */
async function presentOnPostgres(dataDir: string): Promise<void> {
  await using server = await startPostgres();
  const databaseUrl = await newSchema(server.url);
  await present({ dataDir, databaseUrl });
  const schema = /search_path%3D(\w+)/.exec(databaseUrl)?.[1] ?? '';
  const words = ['--inserts', '--no-owner', '--no-privileges', '--no-comments', `--schema=${schema}`, server.url];
  const dumped = execFileSync(join(postgresCommands() ?? '', 'pg_dump'), words, { encoding: 'utf8' });
  const lines = dumped.replaceAll(`${schema}.`, '').split('\n');
  const kept = lines.filter(
    (line) => line !== '' && !/^(--|\\|SET |SELECT pg_catalog\.set_config|CREATE SCHEMA)/.test(line),
  );
  const text = kept.join('\n').replaceAll(/(?<=schema_history VALUES \('[^']*', ')[^']*/g, at(0));
  writeFileSync(new URL('v4.sql', onPostgres), `${text}\n`);
}

async function older(path: string, until: string): Promise<void> {
  using connection = openForWriting(path);
  await migrate(connection, { until: '0001-jobs' });
  firstRelease(connection.database);
  if (until === '0001-jobs') return;
  await migrate(connection, { until });
  secondRelease(connection.database);
}

const STORES: Readonly<Record<string, (directory: string) => Promise<void>>> = {
  'v0.1': (directory) => older(join(directory, 'svc.db'), '0001-jobs'),
  'v0.3': (directory) => older(join(directory, 'svc.db'), '0003-receipts'),
  v4: (dataDir) => present({ dataDir }),
  'v4-postgres': presentOnPostgres,
};

for (const [name, write] of Object.entries(STORES)) {
  if (process.argv.length > 2 && !process.argv.includes(name)) continue;
  const directory = mkdtempSync(join(tmpdir(), 'svc-older-'));
  await write(directory);
  if (name !== 'v4-postgres') store(name, join(directory, 'svc.db'));
  rmSync(directory, { recursive: true });
}
