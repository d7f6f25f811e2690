/**
 * The store in one SQLite file, for one service on one host: a thread that writes, a thread that reads, and this, which
 * hands each call to one of them.
 */
import type { EventBody, RequestedSpec } from '@svc/protocol';
import { movable } from '../../ground/movable.ts';
import type { InputOf, Reads, Writes } from '../commands.ts';
import { partsOf } from '../history/output-run.ts';
import { nameOfJob } from '../jobs/job-name.ts';
import { FinalDetails } from '../kept/final-details.ts';
import { KeptLists } from '../kept/kept-lists.ts';
import { ShortResults } from '../kept/short-results.ts';
import type {
  AdmitInput,
  ArtifactPieceInput,
  AttestationInput,
  AttestationPart,
  CancelInput,
  CredentialRow,
  FinishInput,
  JobDetailInput,
  JobKey,
  ListInput,
  QueueChoice,
  StartInput,
  StreamTicketInput,
  TextExtentInput,
  TextPieceInput,
} from '../records.ts';
import type { Store } from '../store.ts';
import { StoreError } from '../store-error.ts';
import type { LedgerCheck } from './check-file.ts';
import { storeErrorOf } from './sqlite-error.ts';
import { Channel } from './threads/channel.ts';
import { THREADS, type Threads } from './threads/threads.ts';

export interface SqliteStoreOptions {
  /** Absolute path of the database; its directory is created where it is missing. */
  readonly path: string;
  readonly check: LedgerCheck;
  /** Told of what no caller is told: a checkpoint that failed, a thread that died. */
  readonly onTrouble: (error: StoreError) => void;
  /** What runs the two sides of the store; threads of the process without. */
  readonly threads?: Threads;
}

/** When one of its threads is gone, the other ends too, and every call is refused as `unavailable`. */
export class SqliteStore implements Store {
  readonly #writer: Channel<Writes>;
  readonly #reader: Channel<Reads>;
  readonly #details = new FinalDetails();
  readonly #lists = new KeptLists();
  readonly #results = new ShortResults();
  /** Jobs that run, by the name of their key: as many as have a slot. */
  readonly #underWay = new Set<string>();

  private constructor(writer: Channel<Writes>, reader: Channel<Reads>) {
    this.#writer = writer;
    this.#reader = reader;
    void writer.ended.then(() => reader[Symbol.asyncDispose]());
    void reader.ended.then(() => writer[Symbol.asyncDispose]());
  }

  /** @throws StoreError in one clear line where the file cannot be this service's store. */
  static async open({ path, check, onTrouble, threads = THREADS }: SqliteStoreOptions): Promise<SqliteStore> {
    const data = { path, check };
    await using opening = new AsyncDisposableStack();
    const writer = opening.use(new Channel<Writes>({ thread: threads.writer(data), onTrouble }));
    const reader = opening.use(new Channel<Reads>({ thread: threads.reader(data), onTrouble }));
    try {
      await writer.open();
      await reader.open();
    } catch (thrown) {
      throw ofLedger(path, thrown);
    }
    opening.move();
    return new SqliteStore(writer, reader);
  }

  /** Answers what waits, then closes: the reader first, so that the writer can empty the log. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader[Symbol.asyncDispose]();
    await this.#writer[Symbol.asyncDispose]();
  }

  async admit(input: AdmitInput) {
    const result = await this.#change('admit', input);
    if (result.kind === 'created' && input.start !== undefined) this.#underWay.add(nameOfJob(input));
    return result;
  }

  specDigest(spec: RequestedSpec) {
    return this.#reader.call('specDigest', spec);
  }

  findByIdempotencyKey(tenant: string, key: string) {
    return this.#reader.call('findByIdempotencyKey', { tenant, key });
  }

  queuedJobs(input: QueueChoice) {
    return this.#reader.call('queuedJobs', input);
  }

  async start(input: StartInput) {
    const isStarted = await this.#change('start', input);
    if (isStarted) this.#underWay.add(nameOfJob(input));
    return isStarted;
  }

  append(key: JobKey, events: readonly EventBody[]) {
    return this.#change('append', { key, events: partsOf(events) });
  }

  async finish(input: FinishInput) {
    const { isStored, result } = await this.#change('finish', { ...input, events: partsOf(input.events) });
    this.#underWay.delete(nameOfJob(input));
    if (result !== null) this.#results.keep(input, result);
    return isStored;
  }

  isUnderWay(key: JobKey) {
    return this.#underWay.has(nameOfJob(key));
  }

  shortResult(key: JobKey) {
    return this.#results.get(key);
  }

  requestCancel(input: CancelInput) {
    return this.#change('requestCancel', input);
  }

  runningJobs() {
    return this.#reader.call('runningJobs', null);
  }

  job(key: JobKey) {
    return this.#reader.call('job', key);
  }

  jobDetail(input: JobDetailInput) {
    return this.#details.read(input, () => this.#reader.call('jobDetail', input));
  }

  jobSummary(key: JobKey) {
    return this.#reader.call('jobSummary', key);
  }

  list(input: ListInput) {
    return this.#lists.read(input, () => this.#reader.call('list', input));
  }

  events(key: JobKey, { after, limit }: { readonly after: number; readonly limit: number }) {
    return this.#reader.call('events', { key, after, limit });
  }

  textExtent(input: TextExtentInput) {
    return this.#reader.call('textExtent', input);
  }

  textPiece(input: TextPieceInput) {
    return this.#reader.call('textPiece', input);
  }

  artifactRecords(key: JobKey) {
    return this.#reader.call('artifactRecords', key);
  }

  artifactPiece(input: ArtifactPieceInput) {
    return this.#reader.call('artifactPiece', input);
  }

  artifacts(key: JobKey) {
    return this.#reader.call('artifacts', key);
  }

  /** Calls the writer for what changes jobs, and so what lists say. */
  #change<Name extends keyof Writes>(name: Name, input: InputOf<Writes[Name]>, moved: readonly ArrayBuffer[] = []) {
    return this.#lists.change(tenantOf(input), () => this.#writer.call(name, input, moved));
  }

  counts() {
    return this.#reader.call('counts', null);
  }

  probe() {
    return this.#writer.call('probe', null);
  }

  schemaVersion() {
    return this.#reader.call('schemaVersion', null);
  }

  currentJobs(tenant: string) {
    return this.#reader.call('currentJobs', tenant);
  }

  outbox(input: { readonly now: string; readonly limit: number }) {
    return this.#reader.call('outbox', input);
  }

  terminalRecords(input: InputOf<Reads['terminalRecords']>) {
    return this.#reader.call('terminalRecords', input);
  }

  postponeAttestation(input: InputOf<Writes['postponeAttestation']>) {
    return this.#writer.call('postponeAttestation', input);
  }

  resumeAttestations(at: string) {
    return this.#writer.call('resumeAttestations', at);
  }

  storeAttestation(input: AttestationInput) {
    return this.#change('storeAttestation', input, movable(input.result_artifact, input.envelope));
  }

  withdrawAttestation(input: InputOf<Writes['withdrawAttestation']>) {
    return this.#details.change(() => this.#change('withdrawAttestation', input));
  }

  attestation(key: JobKey, part: AttestationPart) {
    return this.#reader.call('attestation', { key, part });
  }

  createCredential(input: CredentialRow) {
    return this.#writer.call('createCredential', input);
  }

  credential(credential_id: string) {
    return this.#reader.call('credential', credential_id);
  }

  credentials(tenant: string | null) {
    return this.#reader.call('credentials', tenant);
  }

  revokeCredential(input: InputOf<Writes['revokeCredential']>) {
    return this.#writer.call('revokeCredential', input);
  }

  rotateCredential(input: InputOf<Writes['rotateCredential']>) {
    return this.#writer.call('rotateCredential', input);
  }

  storeTicket(input: StreamTicketInput) {
    return this.#writer.call('storeTicket', input);
  }

  consumeTicket(input: InputOf<Writes['consumeTicket']>) {
    return this.#writer.call('consumeTicket', input);
  }

  async deleteEnded(input: InputOf<Writes['deleteEnded']>) {
    const removed = await this.#details.change(() => this.#change('deleteEnded', input));
    this.#results.clear();
    return removed;
  }
}

/** Whose jobs a change is about; null where it may be about any tenant's. */
function tenantOf(input: unknown): string | null {
  const { tenant, key } = input as { readonly tenant?: unknown; readonly key?: Partial<JobKey> };
  if (typeof tenant === 'string') return tenant;
  return key?.tenant ?? null;
}

/** Names the store that could not be opened, in the one line that an operator reads. */
function ofLedger(path: string, thrown: unknown): StoreError {
  const { code, message } = storeErrorOf(thrown);
  return new StoreError(code, `${path}: ${message}`, { cause: thrown });
}
