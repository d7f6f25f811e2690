/**
 * For tests: a real store for each test, and inputs that differ only in the members that the test is about. The store is a SQLite
 * file or, if `useServer` named a server, a schema on that server: the same tests run on both.
 */

import { randomUUIDv7 } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256Hex } from '@vouchbox/evidence';
import type { EventBody, RequestedSpec } from '@vouchbox/protocol';
import { CompiledQuery } from 'kysely';
import { openPostgresStore } from './postgres/open.ts';
import { dropSchema, newSchema } from './postgres/schema.fixture.ts';
import { WritingSession } from './postgres/writing-session.ts';
import type { AdmitInput, AttestationInput, FinishInput, QueueChoice, StartInput } from './records/inputs.ts';
import type { ExecutionRecord, JobKey } from './records/rows.ts';
import type { StoreDatabase } from './schema.ts';
import { openForWriting } from './sqlite/connection.ts';
import { migrate } from './sqlite/migrations/migrate.ts';
import { openSqliteStore } from './sqlite/open.ts';
import type { Store } from './store.ts';
import type { StoreError } from './store-error.ts';
import type { Threads } from './threads/threads.ts';
import { POSTGRES_SAME_THREAD, SAME_THREAD } from './threads.fixture.ts';

/** A moment in the tests, in milliseconds after their common start. */
export function at(milliseconds: number): string {
  return new Date(Date.UTC(2026, 0, 1) + milliseconds).toISOString();
}

let server: string | null = null;

/** Makes the following tests' stores on this server: `postgres://…`, or null for SQLite files. */
export function useServer(url: string | null): void {
  server = url;
}

/** A store that can be closed and opened again. Disposing closes and removes it. */
export class TestStore implements AsyncDisposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'svc-store-'));
  /** The problems that the store reported. */
  readonly problems: StoreError[] = [];
  readonly #threads: Threads;
  #store: Store | null = null;
  /** Null for a store in a SQLite file. */
  #url: string | null = null;

  /** The store runs on the test's own thread, unless the test is about threads. */
  constructor(threads: Threads = server === null ? SAME_THREAD : POSTGRES_SAME_THREAD) {
    this.#threads = threads;
  }

  static async open(threads?: Threads): Promise<TestStore> {
    const testStore = new TestStore(threads);
    await testStore.reopen();
    return testStore;
  }

  get store(): Store {
    if (this.#store === null) throw new Error('the test closed its store');
    return this.#store;
  }

  get path(): string {
    return join(this.directory, 'svc.db');
  }

  async close(): Promise<void> {
    await this.#store?.[Symbol.asyncDispose]();
    this.#store = null;
  }

  async reopen(): Promise<Store> {
    await this.close();
    const onProblem = (problem: StoreError) => this.problems.push(problem);
    const options = { check: 'off', onProblem, threads: this.#threads } as const;
    if (server !== null) this.#url ??= await newSchema(server);
    this.#store =
      this.#url === null
        ? await openSqliteStore({ path: this.path, ...options })
        : await openPostgresStore({ url: this.#url, ...options });
    return this.#store;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    rmSync(this.directory, { recursive: true, force: true });
    if (this.#url !== null) await dropSchema(this.#url);
  }
}

/** A store's tables without the store's threads. Commands run on `db`. */
export interface TestDatabase extends AsyncDisposable {
  readonly db: StoreDatabase;
  /** Runs a statement and returns its rows. */
  rows(text: string): Promise<readonly Record<string, unknown>[]>;
}

/** An empty store on this thread, in memory or in a schema of its own. */
export async function emptyStore(): Promise<TestDatabase> {
  return server === null ? await memoryDatabase() : await schemaDatabase(server);
}

async function memoryDatabase(): Promise<TestDatabase> {
  const connection = openForWriting(':memory:');
  await migrate(connection);
  return databaseOf(connection.db, async () => connection[Symbol.dispose]());
}

async function schemaDatabase(on: string): Promise<TestDatabase> {
  const url = await newSchema(on);
  const writing = await WritingSession.open(url, {});
  const { db } = await writing.current();
  return databaseOf(db, async () => {
    await writing[Symbol.asyncDispose]();
    await dropSchema(url);
  });
}

function databaseOf(db: StoreDatabase, close: () => Promise<void>): TestDatabase {
  return {
    db,
    rows: async (text) => (await db.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text))).rows,
    [Symbol.asyncDispose]: close,
  };
}

export const SPEC: RequestedSpec = {
  language: 'python',
  code: 'print("hé")',
  stdin: null,
  files: [],
  args: [],
  env: {},
  outputs: [],
  runtime: null,
  requirements: { minimum_isolation: 'none' },
  limits: { wall_seconds: 10, cpu_seconds: 5, mem_mb: 256, max_pids: 64, max_file_mb: 16 },
};

export const EXECUTION: ExecutionRecord = {
  bootstrap_ready: true,
  backend: 'namespace',
  runtime_identity: { name: 'crun', version: '1.8.1', platform: null },
  runtime_pack: null,
  isolation_class: 'linux-shared-kernel',
  private_rootfs: true,
  dedicated_bootstrap: true,
  seccomp: 'filter',
  no_new_privileges: true,
  capabilities: '0',
  network_allowed: false,
  networking: 'disabled',
  effective_limits: { wall_seconds: 10, cpu_seconds: 5, mem_mb: 256, max_pids: 64, max_file_mb: 16 },
  limit_enforcement: { wall_seconds: true, cpu_seconds: true, mem_mb: true, max_pids: true, max_file_mb: true },
  host_posture_sha256: null,
};

export function newKey(tenant = 'acme'): JobKey {
  return { tenant, job_id: `job_${randomUUIDv7()}` };
}

/** A request from a dispatcher that does not limit any tenant. */
export function choice(asked: Pick<QueueChoice, 'exclude' | 'limit'> & Partial<QueueChoice>): QueueChoice {
  return { held: new Map(), tests: 10_000, slots: 10_000, tenantSlots: 10_000, ...asked };
}

export function admission(changes: Partial<AdmitInput> = {}): AdmitInput {
  return {
    ...newKey(),
    created_at: at(0),
    requested_spec: SPEC,
    idempotency: null,
    queueMax: 1_000_000,
    tenantQueueMax: 1_000_000,
    blobBytesMax: 2 ** 30,
    isNumbered: true,
    ...changes,
  };
}

export function startOf(key: JobKey, changes: Partial<StartInput> = {}): StartInput {
  return {
    tenant: key.tenant,
    job_id: key.job_id,
    created_at: at(0),
    started_at: at(10),
    execution: EXECUTION,
    ...changes,
  };
}

export function finishOf(key: JobKey, changes: Partial<FinishInput> = {}): FinishInput {
  return {
    tenant: key.tenant,
    job_id: key.job_id,
    status: 'succeeded',
    terminal_reason: 'exited',
    exit_code: 0,
    signal: null,
    finished_at: at(30),
    duration_ms: 20,
    events: [],
    artifacts: [],
    execution: EXECUTION,
    usage: { wall_ms: 20, cpu_ms: 12, memory_peak_bytes: 9_000_000 },
    output: null,
    recovery: false,
    ...changes,
  };
}

/** An attestation of a receipt. It passes the store's checks. */
export function attestationOf(key: JobKey, receipt_sha256: string): AttestationInput {
  const result_artifact = new TextEncoder().encode(`{"job_id":"${key.job_id}"}`);
  const envelope = crypto.getRandomValues(new Uint8Array(300));
  return {
    ...key,
    key_id: `sha256:${'a'.repeat(64)}`,
    receipt_sha256,
    result_sha256: sha256Hex(result_artifact),
    result_size_bytes: result_artifact.length,
    envelope_sha256: sha256Hex(envelope),
    envelope_size_bytes: envelope.length,
    created_at: at(50),
    result_artifact,
    envelope,
    leaf_hash: null,
  };
}

export function stdout(text: string, milliseconds = 20): EventBody {
  return { kind: 'stdout', timestamp: at(milliseconds), data: { text } };
}

/** Stores a queued job and returns its key. */
export async function admitJob(store: Store, changes: Partial<AdmitInput> = {}): Promise<JobKey> {
  const input = admission(changes);
  const result = await store.admit(input);
  if (result.kind !== 'created') throw new Error(`the job was not accepted: ${result.kind}`);
  return { tenant: input.tenant, job_id: input.job_id };
}

/** Stores a running job and returns its key. */
export async function runJob(store: Store, changes: Partial<AdmitInput> = {}): Promise<JobKey> {
  const key = await admitJob(store, changes);
  await store.start(startOf(key));
  return key;
}
