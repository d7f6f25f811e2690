/**
 * A job that ended, with its receipt, history and attestation, made by the code that the service uses. Everything that a test
 * does not state has a plausible default.
 */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  type Attestation,
  attest,
  canonicalJson,
  chainEvents,
  decodeEnvelope,
  type EnvelopeSigner,
  EXPORT_FILES,
  EXPORT_MANIFEST,
  EXPORT_OPTIONAL_FILES,
  encodeEnvelope,
  exportManifest,
  GENESIS_HASH,
  keyIdOf,
  outputEvidence,
  policyText,
  sealReceipt,
  sha256Hex,
  signedEnvelope,
  type UnsealedReceipt,
} from '@vouchbox/evidence';
import type { ArtifactRecord, EventBody, JobEvent, OutputName, Receipt, StoredSpec } from '@vouchbox/protocol';

/** A key pair as the service has one. */
export interface SigningKey {
  readonly key_id: string;
  readonly publicKeyPem: string;
  readonly privateKey: KeyObject;
}

export interface JobOptions {
  readonly tenant?: string;
  readonly job_id?: string;
  readonly key?: SigningKey;
  /** The events between `started` and `finished`. */
  readonly bodies?: readonly EventBody[];
  readonly status?: Receipt['status'];
  readonly finished_at?: string;
  /** Changes to the receipt before it is sealed; `undefined` removes a member. */
  readonly receipt?: { readonly [name in keyof Receipt]?: Receipt[name] | undefined };
  readonly code?: string;
  readonly stdin?: string;
  readonly inputs?: Readonly<Record<string, string>>;
  /** The job's inputs that are outputs of other jobs, keyed by input path. */
  readonly from?: Readonly<Record<string, OutputName>>;
  readonly outputs?: Readonly<Record<string, string>>;
  /** The number of the job in its tenant; null if the statement has none. */
  readonly tenant_number?: number | null;
  /** Members of a statement that a later version writes and this version does not know. */
  readonly also?: Readonly<Record<string, unknown>>;
}

export interface AttestedJob {
  readonly tenant: string;
  readonly job_id: string;
  readonly key: SigningKey;
  readonly events: readonly JobEvent[];
  readonly receipt: Receipt;
  readonly attestation: Attestation;
  /** Everything in an export except its manifest. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

/** What a service keeps only for the statement. */
const KEPT = { salt: '5a'.repeat(16), tenant_number: 7 };

const AT = '2026-01-01T00:00:01.000Z';
const LIMITS = { wall_seconds: 10, cpu_seconds: 2.5, mem_mb: 256, max_pids: 64, max_file_mb: 16 };

export function signingKey(): SigningKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const key_id = keyIdOf(publicKey.export({ type: 'spki', format: 'der' }));
  return { key_id, publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }) as string, privateKey };
}

const defaultKey = signingKey();

/** A line of output as an event body. */
export function line(kind: 'stdout' | 'stderr', text: string): EventBody {
  return { kind, timestamp: AT, data: { text } };
}

/** Makes a whole job, from its first event to its signature. */
export function attestedJob(options: JobOptions = {}): AttestedJob {
  const { tenant = 'acme', job_id = 'job_0197c0de-0000-7000-8000-000000000001', key = defaultKey } = options;
  const finished_at = options.finished_at ?? AT;
  const outcome = outcomeOf(options.status ?? 'succeeded');
  const outputs = recordsOf(options.outputs);
  const events = chainEvents({ job_id, seq: 0, head: GENESIS_HASH }, [
    { kind: 'queued', timestamp: AT, data: { language: 'python', runtime: null, requirements, limits: LIMITS } },
    { kind: 'started', timestamp: AT, data: { ...observed, bootstrap_ready: true, limits: LIMITS } },
    ...(options.bodies ?? [line('stdout', 'hello'), line('stderr', 'é\u2028\u{1f600}')]),
    ...outputs.map((data): EventBody => ({ kind: 'artifact', timestamp: AT, data })),
    { kind: 'finished', timestamp: finished_at, data: outcome },
  ]);
  const lifecycle = { tenant, job_id, ...outcome, created_at: AT, started_at: AT, finished_at };
  const unsealed = { ...receiptOf(options, events), ...lifecycle, output_artifacts: outputs, ...options.receipt };
  const { receipt, json, receipt_sha256 } = sealReceipt(unsealed as UnsealedReceipt);
  const signer: EnvelopeSigner = {
    key_id: key.key_id,
    sign: (message) => new Uint8Array(sign(null, message, key.privateKey)),
  };
  const job = { ...lifecycle, truncated: false, receipt_sha256 };
  const { tenant_number = KEPT.tenant_number } = options;
  const result = attest({ job, receipt, events, kept: { ...KEPT, tenant_number } }, signer);
  if (result.kind !== 'attested') throw new Error(`the fixture is not attestable: ${JSON.stringify(result)}`);
  const { also } = options;
  const attestation =
    also === undefined ? result.attestation : { ...result.attestation, ...restated(result.attestation, also, signer) };
  const files = exportedFiles(options, { json, events, attestation, key });
  return { tenant, job_id, key, events, receipt, attestation, files };
}

/** The envelope around the same statement, as a later version would write it. */
function restated({ envelope }: Attestation, also: object, signer: EnvelopeSigner) {
  const decoded = decodeEnvelope(envelope);
  if (decoded.kind === 'refused') throw new Error(decoded.reason);
  const { payload } = decoded.envelope;
  const { predicate, ...statement } = JSON.parse(new TextDecoder().decode(payload)) as { predicate: object };
  const later = new TextEncoder().encode(canonicalJson({ ...statement, predicate: { ...predicate, also } }));
  const bytes = encodeEnvelope(signedEnvelope(later, signer));
  return { envelope: bytes, envelope_sha256: sha256Hex(bytes) };
}

/** The bytes of every file of an export, including the manifest. */
export function exportOf(job: AttestedJob): Map<string, Uint8Array> {
  return new Map([...job.files, [EXPORT_MANIFEST, exportManifest(job, job.files)]]);
}

/** A directory for one test file, and functions that write to it. */
export class Scratch implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'svc-verify-'));

  /** Writes a file and returns its path. */
  write(name: string, content: string | Uint8Array): string {
    const path = join(this.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  /** Writes files in a new directory and returns its path. */
  writeAll(name: string, files: ReadonlyMap<string, string | Uint8Array>): string {
    mkdirSync(join(this.path, name));
    for (const [path, content] of files) this.write(join(name, path), content);
    return join(this.path, name);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

/** Events as an export has them, one per line. */
export function eventLines(events: readonly JobEvent[]): string {
  return events.map((event) => `${canonicalJson(event)}\n`).join('');
}

const requirements = { minimum_isolation: 'linux-shared-kernel' } as const;
const observed = { backend: 'gvisor', isolation_class: 'gvisor-application-kernel' } as const;

function outcomeOf(status: Receipt['status']) {
  const exit_code = status === 'succeeded' ? 0 : status === 'failed' ? 3 : null;
  const other = { oom_killed: 'memory_limit', error: 'server_restarted' } as const;
  const reason = status === 'oom_killed' || status === 'error' ? other[status] : 'wall_limit';
  const terminal_reason = exit_code === null ? reason : 'exited';
  return { status, exit_code, signal: null, terminal_reason, duration_ms: 12 } as const;
}

function recordsOf(files: Readonly<Record<string, string>> = {}): ArtifactRecord[] {
  return Object.entries(files).map(([path, content]) => ({
    path,
    size_bytes: Buffer.byteLength(content),
    sha256: sha256Hex(content),
  }));
}

/** The members from which a policy is made; the rest of a submission does not matter. */
function policyOf({ outputs = {}, from = {} }: Pick<JobOptions, 'outputs' | 'from'>): StoredSpec {
  const files = Object.entries(from).map(([path, name]) => ({ path, from: name, blob: '' }));
  return { requirements, limits: LIMITS, outputs: Object.keys(outputs), runtime: null, files };
}

function receiptOf({ code = 'print("hello")', stdin, inputs, ...options }: JobOptions, events: readonly JobEvent[]) {
  return {
    schema_version: 4,
    language: 'python',
    runtime: null,
    code_sha256: sha256Hex(code),
    stdin_sha256: stdin === undefined ? null : sha256Hex(stdin),
    policy_sha256: sha256Hex(policyText(policyOf(options))),
    requested_limits: LIMITS,
    truncated: false,
    output: outputEvidence(events),
    input_artifacts: recordsOf(inputs),
    bootstrap_ready: true,
    ...observed,
    runtime_identity: { name: 'runsc', version: '1', platform: 'systrap' },
    runtime_pack: { name: 'science', version: '2.1', digest: 'ab'.repeat(32) },
    private_rootfs: true,
    dedicated_bootstrap: true,
    seccomp: 'filter',
    no_new_privileges: true,
    capabilities: '0',
    network_allowed: false,
    networking: 'disabled',
    effective_limits: LIMITS,
    limit_enforcement: { wall_seconds: true, cpu_seconds: true, mem_mb: true, max_pids: true, max_file_mb: false },
    host_posture_sha256: null,
    event_chain: {
      hash_version: 1,
      genesis: GENESIS_HASH,
      head: events.at(-1)?.event_hash as string,
      count: events.length,
      complete: true,
    },
  } as const;
}

function exportedFiles(
  { code = 'print("hello")', stdin, inputs = {}, outputs = {}, from = {} }: JobOptions,
  made: { json: string; events: readonly JobEvent[]; attestation: Attestation; key: SigningKey },
): Map<string, Uint8Array> {
  const { json, events, attestation, key } = made;
  const texts: [path: string, content: string][] = [
    [EXPORT_FILES.receipt, json],
    [EXPORT_FILES.events, eventLines(events)],
    [EXPORT_FILES.publicKey, key.publicKeyPem],
    ['code', code],
    [EXPORT_OPTIONAL_FILES.policy, policyText(policyOf({ outputs, from }))],
    ...(stdin === undefined ? [] : [['stdin', stdin] as [string, string]]),
    ...Object.entries(inputs),
    ...Object.entries(outputs),
  ];
  return new Map<string, Uint8Array>([
    [EXPORT_FILES.envelope, attestation.envelope],
    [EXPORT_FILES.result, attestation.result],
    ...texts.map(([path, content]): [string, Uint8Array] => [path, new TextEncoder().encode(content)]),
  ]);
}
