/** Restores the submission of an exported job from the export's directory, after all files there were verified. */
import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  canonicalJson,
  EXPORT_FILES,
  EXPORT_OPTIONAL_FILES,
  type ExportManifest,
  isJsonObject,
  parseStrictJson,
  sha256Hex,
} from '@vouchbox/evidence';
import type { JobSubmission } from '@vouchbox/protocol';
import { LIBRARIES_FILE, PRODUCT_FILES, stdinBytesMax } from '@vouchbox/protocol/vocabulary';
import { type ExportedJob, wholeFile } from '@vouchbox/verifier';
import { CommandFailure } from '../failures/command-failure.ts';

interface Again {
  /** The PEM text of the key that signed the first job. */
  readonly signer: string;
  readonly product: string | undefined;
}

/** The idempotency key with which a job is submitted again. The key does not depend on the job's results. */
export function keyFor(
  { tenant, job_id }: Pick<ExportManifest, 'tenant' | 'job_id'>,
  { signer, product }: Again,
): string {
  const names = [signer, tenant, job_id, ...(product === undefined ? [] : [product])];
  return `reproduce-${sha256Hex(canonicalJson(names))}`;
}

export interface Resubmission {
  readonly submission: JobSubmission;
  /** Standard input that must be uploaded because it does not fit into the body; null if it is in the body. */
  readonly stdin: Uint8Array<ArrayBuffer> | null;
  /** The archive of libraries to upload; null if the job had none. */
  readonly libraries: Uint8Array<ArrayBuffer> | null;
}

/**
 * The members to submit again. The receiving service checks their values.
 * @throws CommandFailure that names what cannot be submitted again
 */
export function submissionIn(
  directory: string,
  exported: ExportedJob,
  { product }: Pick<Again, 'product'>,
): Resubmission {
  const receipt = objectIn(exported, EXPORT_FILES.receipt);
  const policy = objectIn(exported, EXPORT_OPTIONAL_FILES.policy);
  if (policy === null || receipt === null)
    throw again('the export does not say what the job demanded: policy.json is missing');
  if (receipt['interaction'] !== undefined) throw again('its program talked to the program of another job');
  const { allow_network: _network, inputs: _inputs, product: started, build, large_outputs, ...demanded } = policy;
  const { limits, outputs, runtime, reproducible, requirements, tools, ...unknown } = demanded;
  const [foreign] = Object.keys(unknown);
  if (foreign !== undefined) throw again(`it demanded ${foreign}, which this command does not know how to ask for`);
  if (started !== undefined && product === undefined)
    throw again(
      'it started the product of a build; reproduce the export of that build, and name the new job with --product',
    );
  if (started === undefined && product !== undefined) throw again('--product is given, but the job started no product');
  const read = (path: string) => readAgain(directory, path, exported);
  const inputs = inputsOf(receipt['input_artifacts']);
  const libraries = inputs.includes(LIBRARIES_FILE) ? read(LIBRARIES_FILE) : null;
  const program = {
    limits,
    runtime,
    ...(reproducible !== undefined && { reproducible }),
    language: receipt['language'],
    code: text(read(EXPORT_OPTIONAL_FILES.code), 'code'),
    files: filesOf(inputs, read),
    ...(product !== undefined && { product: { job_id: product } }),
    // The principals that may answer calls are left out, because the other service has its own principals.
    ...(isJsonObject(tools) && { tools: tools['tools'], tool_limits: tools['limits'] }),
    ...(isJsonObject(requirements) && isDemand(requirements) && { requirements }),
  };
  // The service decides the outputs of a build.
  if (build !== undefined)
    return { submission: { ...program, build } as unknown as JobSubmission, stdin: null, libraries };
  const given = (name: 'stdin' | 'args' | 'env') => typeof receipt[`${name}_sha256`] === 'string';
  const stdin = given('stdin') ? read(EXPORT_OPTIONAL_FILES.stdin) : null;
  const isInline = stdin !== null && stdin.length <= stdinBytesMax && isUtf8(stdin);
  const submission = {
    ...program,
    outputs,
    ...(large_outputs !== undefined && { large_outputs }),
    ...(isInline && { stdin: text(stdin, 'stdin') }),
    ...(given('args') && { args: json(read(EXPORT_OPTIONAL_FILES.args)) }),
    ...(given('env') && { env: json(read(EXPORT_OPTIONAL_FILES.env)) }),
  };
  return { submission: submission as unknown as JobSubmission, stdin: isInline ? null : stdin, libraries };
}

function again(why: string): CommandFailure {
  return new CommandFailure(`the job cannot be submitted again, and nothing was sent: ${why}`);
}

function isDemand({ minimum_isolation, enforced }: Readonly<Record<string, unknown>>): boolean {
  return minimum_isolation !== 'none' || enforced !== undefined;
}

function inputsOf(listed: unknown): readonly string[] {
  const artifacts: readonly unknown[] = Array.isArray(listed) ? listed : [];
  const paths = artifacts.filter(isJsonObject).map(({ path }) => String(path));
  // A small receipt could name a large file many times, and memory would hold a copy for each.
  if (new Set(paths).size < paths.length) throw again('its receipt names a file twice');
  return paths;
}

function filesOf(paths: readonly string[], read: (path: string) => Uint8Array): JobSubmission['files'] {
  return paths
    .filter((path) => path !== PRODUCT_FILES.input && path !== LIBRARIES_FILE)
    .map((path) => ({ path, content_base64: Buffer.from(read(path)).toString('base64') }));
}

/** The bytes of a file in the manifest, checked once more, because the file may have been replaced since it was verified. */
function readAgain(directory: string, path: string, { manifest }: ExportedJob): Uint8Array<ArrayBuffer> {
  const listed = manifest.files.find((file) => file.path === path);
  if (listed === undefined) throw again(`${path} is not in the export`);
  const descriptor = openSync(join(directory, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const isSame = fstatSync(descriptor).isFile() && fstatSync(descriptor).size === listed.size_bytes;
    const bytes = isSame ? new Uint8Array(readFileSync(descriptor)) : null;
    if (bytes !== null && sha256Hex(bytes) === listed.sha256) return bytes;
  } finally {
    closeSync(descriptor);
  }
  throw again(`${path} was changed while it was read`);
}

function text(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw again(`${name} is not text`);
  }
}

function json(bytes: Uint8Array): unknown {
  const parsed = parseStrictJson(new Uint8Array(bytes));
  if (parsed.kind === 'value') return parsed.value;
  throw again('args.json or env.json cannot be read');
}

function objectIn({ files }: ExportedJob, path: string): Readonly<Record<string, unknown>> | null {
  const bytes = wholeFile(files, path);
  const parsed = bytes === undefined ? null : parseStrictJson(bytes);
  return parsed?.kind === 'value' && isJsonObject(parsed.value) ? parsed.value : null;
}
