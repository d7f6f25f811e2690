/**
 * A scripted operator who has every key of a service: the key that signs results and the log's key. The operator makes
 * everything with the service's own code, and gives files to the tools of the people whom the operator cheats.
 */
import { sign } from 'node:crypto';
import {
  type EnvelopeSigner,
  EXPORT_MANIFEST,
  exportManifest,
  type PromisePredicate,
  promiseStatement,
  signStatement,
} from '@vouchbox/evidence';
import { serviceVerify } from '@vouchbox/verifier/command';
import {
  type AttestedJob,
  attestedJob,
  type JobOptions,
  Scratch,
  type SigningKey,
  signingKey,
} from '../../packages/verifier/test/attested-job.ts';
import { TestLog, testCosignature, testNoteKey } from '../rig/test-log.ts';

export const TENANT = 'acme';
/** A time on the witness's clock, in seconds since the epoch. Everything here happens on one day. */
export const at = (hour: number, minute = 0) => Date.UTC(2026, 0, 1, hour, minute) / 1000;
export const timeOf = (seconds: number) => new Date(seconds * 1000).toISOString();

/** How a tool ended, and what it printed. */
export interface Said {
  readonly code: number | null;
  readonly text: string;
}

export class Operator implements Disposable {
  readonly key: SigningKey = signingKey();
  readonly log = new TestLog();
  /** The witness's key. The witness is somebody else. */
  readonly witness = testNoteKey('witness.example', 'cosignature');
  readonly #scratch = new Scratch();
  #written = 0;
  #jobs = 0;

  file(content: string | Uint8Array): string {
    return this.#scratch.write(`file-${++this.#written}`, content);
  }

  /** A result that this operator signed. Default: the result of the tenant's next job. */
  result(options: JobOptions = {}): AttestedJob {
    const number = options.tenant_number ?? ++this.#jobs;
    const job_id = `job_0197c0de-0000-7000-8000-${String(number).padStart(12, '0')}`;
    return attestedJob({ tenant: TENANT, job_id, key: this.key, tenant_number: number, ...options });
  }

  /** Writes a job's export, and returns the export's directory. */
  directory(job: AttestedJob): string {
    const manifest = exportManifest(job, job.files);
    return this.#scratch.writeAll(`export-${++this.#written}`, new Map([...job.files, [EXPORT_MANIFEST, manifest]]));
  }

  /** Appends a result to a log, and returns the result's position. */
  logged(job: AttestedJob, log = this.log): number {
    return log.appendSigned(job.attestation.envelope, job.key.publicKeyPem);
  }

  /** Appends other statements to a log. */
  grow(count: number, log = this.log, word = 'other'): void {
    for (let each = 0; each < count; each++) log.append(new TextEncoder().encode(`${word} ${log.size}`));
  }

  /** The promise that the log will answer for this job by this time. */
  promise({ tenant, job_id, receipt }: AttestedJob, answerBy: number, tenantJobNumber: number): string {
    const { code_sha256, language, args_sha256 } = receipt;
    const predicate: PromisePredicate = {
      tenant,
      jobId: job_id,
      tenantJobNumber,
      acceptedAt: timeOf(at(9)),
      answerBy: timeOf(answerBy),
      logOrigin: 'log.example/log/1',
      logKey: this.log.key.text,
      submission: { code_sha256, language, args_sha256 },
    };
    return this.file(signStatement(promiseStatement(predicate), this.#signer).envelope);
  }

  /** A log's head, signed by the witness at this time. */
  witnessed(time: number, log = this.log): string {
    const { size } = log;
    return this.file(log.checkpoint(size, testCosignature(this.witness, log.headText(size), time)));
  }

  /** Runs `service-verify` as somebody who pinned this operator's keys and the witness's key. */
  async verify(command: string, files: readonly string[], more: readonly string[] = []): Promise<Said> {
    const trust = ['--public-key', this.file(this.key.publicKeyPem)];
    const words = command === 'head' ? [] : command === 'same' ? trust : [...trust, '--tenant', TENANT];
    const { exitCode, stdout, stderr } = await serviceVerify([command, ...files, ...words, ...more]);
    return { code: exitCode, text: stdout + stderr };
  }

  get pinned(): readonly string[] {
    return ['--log-key', this.file(this.log.key.text), '--witness', this.file(this.witness.text)];
  }

  readonly #signer: EnvelopeSigner = {
    key_id: this.key.key_id,
    sign: (message) => new Uint8Array(sign(null, message, this.key.privateKey)),
  };

  [Symbol.dispose](): void {
    this.#scratch[Symbol.dispose]();
  }
}
