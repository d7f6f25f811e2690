/** Makes the files of an exported job: their names, their contents, and the manifest that lists them. docs/VERIFYING.md. */
import type { JobEvent, Receipt, StoredFile, StoredSpec } from '@vouchbox/protocol';
import { pathProblem } from '@vouchbox/protocol/vocabulary';
import { sha256Hex } from '#sha256';
import { decodeBase64 } from './base64.ts';
import { canonicalJson } from './canonical-json.ts';
import type { ExportContent } from './export-content.ts';
import { EXPORT_FILES, EXPORT_MANIFEST, EXPORT_OPTIONAL_FILES, exportManifest } from './job-export.ts';
import { argumentsText, policyText, variablesText } from './spec-texts.ts';

/** The reason why the service's data cannot be exported. */
export class ExportFailure extends Error {
  override readonly name = 'ExportFailure';
}

/** The parts of an export, read either from a service or from the service's data. */
export interface ExportSource {
  readonly tenant: string;
  readonly job_id: string;
  readonly envelope: Uint8Array;
  readonly result_artifact: Uint8Array;
  /** The receipt's canonical text. */
  readonly receipt_json: string;
  readonly events: readonly JobEvent[];
  readonly public_key_pem: string;
  readonly requested_spec: StoredSpec;
  readonly artifacts: readonly { readonly path: string; readonly content: Uint8Array }[];
  /** The named inputs and large outputs that are still stored, keyed by `sha256:…`. */
  readonly blobs?: ReadonlyMap<string, ExportContent>;
}

/** The parts of an export that hold the program. */
export type ProgramSource = Pick<ExportSource, 'requested_spec' | 'receipt_json' | 'artifacts' | 'blobs'>;

export interface ExportChoice {
  /** Whether to leave out the program, its input and its output files, because they are secret. */
  readonly program: 'kept' | 'left_out';
  /** Keeps the policy even if the program is left out. The policy names the jobs that this one depends on. */
  readonly policy?: 'kept';
}

/**
 * Every file of the export, keyed by path, with the manifest first. Uploaded files come from `blobs`. Data from a service is not
 * trusted: input must be below `input/` and output below `output/`, so that no file replaces another.
 *
 * @throws ExportFailure if the job has no receipt, or a file has a path that no job's file can have
 */
export function exportFiles(source: ExportSource, { program, policy }: ExportChoice): Map<string, ExportContent> {
  const files = new Map<string, ExportContent>([
    [EXPORT_FILES.envelope, source.envelope],
    [EXPORT_FILES.result, source.result_artifact],
    [EXPORT_FILES.receipt, utf8(source.receipt_json)],
    [EXPORT_FILES.events, utf8(source.events.map((event) => `${canonicalJson(event)}\n`).join(''))],
    [EXPORT_FILES.publicKey, utf8(source.public_key_pem)],
    ...(program === 'kept' ? programFiles(source) : policy === 'kept' ? policyFile(source) : []),
  ]);
  return new Map([[EXPORT_MANIFEST, exportManifest(source, files)], ...files]);
}

/**
 * The texts and files that the receipt covers, if they are known here. A recovery receipt covers none.
 *
 * @throws ExportFailure as `exportFiles` does
 */
export function programFiles(source: ProgramSource): [string, ExportContent][] {
  const { requested_spec, artifacts, blobs } = source;
  const receipt = receiptIn(source);
  const { code, stdin, named_stdin, files = [] } = requested_spec;
  const { input_artifacts = [], output_artifacts = [], large_outputs = [] } = receipt;
  const listed = new Set([...input_artifacts, ...output_artifacts, ...large_outputs].map(({ path }) => path));
  const optional: [string, ExportContent][] = [];
  if (receipt.code_sha256 != null && code !== undefined) optional.push([EXPORT_OPTIONAL_FILES.code, utf8(code)]);
  if (receipt.stdin_sha256 != null && stdin != null) optional.push([EXPORT_OPTIONAL_FILES.stdin, utf8(stdin)]);
  if (named_stdin !== undefined && `sha256:${receipt.stdin_sha256}` === named_stdin.blob)
    optional.push(...named(EXPORT_OPTIONAL_FILES.stdin, named_stdin.blob, blobs));
  const args = argumentsText(requested_spec);
  if (receipt.args_sha256 != null && args !== null) optional.push([EXPORT_OPTIONAL_FILES.args, utf8(args)]);
  const env = variablesText(requested_spec);
  if (receipt.env_sha256 != null && env !== null) optional.push([EXPORT_OPTIONAL_FILES.env, utf8(env)]);
  const inputs = files.flatMap((file) => inputFile(file, blobs));
  const outputs = [
    ...artifacts.map(({ path, content }): [string, ExportContent] => [path, content]),
    ...large_outputs.flatMap(({ path, sha256 }) => named(path, `sha256:${sha256}`, blobs)),
  ];
  for (const [path] of inputs) checkPath(path, 'input');
  for (const [path] of outputs) checkPath(path, 'output');
  return [...optional, ...policyFile(source), ...[...inputs, ...outputs].filter(([path]) => listed.has(path))];
}

function policyFile(source: ProgramSource): [string, ExportContent][] {
  const policy = policyText(source.requested_spec);
  return receiptIn(source).policy_sha256 === sha256Hex(policy) ? [[EXPORT_OPTIONAL_FILES.policy, utf8(policy)]] : [];
}

function receiptIn({ receipt_json }: ProgramSource): Partial<Receipt> {
  const receipt = JSON.parse(receipt_json) as Partial<Receipt> | null;
  if (receipt === null) throw new ExportFailure('the job has no receipt');
  return receipt;
}

/** The entry for an input file. An uploaded file that is no longer stored has no entry, but the receipt has its digest. */
function inputFile(file: StoredFile, blobs: ExportSource['blobs']): [string, ExportContent][] {
  const { path } = file;
  return 'blob' in file ? named(path, file.blob, blobs) : [[path, contentOf(path, file.content_base64)]];
}

function named(path: string, blob: string, blobs: ExportSource['blobs']): [string, ExportContent][] {
  const content = blobs?.get(blob);
  return content === undefined ? [] : [[path, content]];
}

function contentOf(path: string, base64: string): Uint8Array {
  const content = decodeBase64(base64);
  if (content === null) throw new ExportFailure(`the service gives an input file ${path} that is not base64`);
  return content;
}

function checkPath(path: string, kind: 'input' | 'output'): void {
  const problem = pathProblem(path, kind);
  if (problem !== null) throw new ExportFailure(`the service names an ${kind} file ${path}, which ${problem}`);
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
