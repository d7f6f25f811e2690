/**
 * Checks everything in an exported job, without the service that made it. The pinned key and the expected tenant come
 * from elsewhere. Nothing in the export is trusted. Uses nothing that only Node has.
 */
import {
  canonicalJson,
  digestOf,
  EXPORT_FILES,
  EXPORT_OPTIONAL_FILES,
  type ExecutionPredicate,
  jsonObjectIn,
  parsePublicKey,
  parseStrictJson,
  resultSubjectName,
  type StoredReceipt,
} from '@vouchbox/evidence';
import { printable, RESULT_MEDIA_TYPE } from '@vouchbox/protocol/vocabulary';
import { factsOf, NOTICE, type Signed, verifyAttestation } from './attestation.ts';
import { type CanaryFile, canaryStanding } from './canary.ts';
import { artifactIn, checkRecord, resultCheck } from './check-record.ts';
import { EXIT } from './exit-code.ts';
import { type ExportedJob, type ExportFiles, type ExportProblem, wholeFile } from './exported-job.ts';
import { parseLines } from './history.ts';
import { type LogExpectation, type LogStanding, logStanding, notLogged } from './log-standing.ts';
import type { Policy } from './policy.ts';
import { type Check, checked, exitCodeOf, type Facts, failed, passed, type Report, refusal } from './report.ts';
import { callFacts, toolChecks } from './tool-calls.ts';

/** The facts that are known from elsewhere. */
export interface ExportExpectation {
  /** PEM texts of the pinned keys; null for a key that was too large to read. */
  readonly publicKeys: readonly (string | null)[];
  readonly tenant: string;
  /** The expected job; if left out, the export decides which job it is about. */
  readonly job?: string | undefined;
  readonly policy?: Policy | null;
  /** The pinned keys of the log; if left out, none is pinned. */
  readonly log?: LogExpectation | undefined;
  /** A proof that came beside the export. It replaces the proof in the export. */
  readonly logProof?: Uint8Array | null;
  /** The canary that came beside the export. */
  readonly canary?: CanaryFile | null;
}

/** The report, and where the statement stands in the log. */
export interface ExportReport extends Report {
  readonly log: LogStanding;
}

/** Verifies the attestation, then checks that all else in the export was attested, then applies the policy. */
export async function verifyExport(
  exported: ExportedJob | ExportProblem,
  { publicKeys, tenant, job, policy = null, log: expected = { keys: null }, ...given }: ExportExpectation,
): Promise<ExportReport> {
  if ('problem' in exported) return unlogged(refusal(exported.exitCode, [failed('directory', exported.problem)]));
  const listed = passed('directory', `${exported.files.size} files as the manifest lists them`);
  const { signed, ...verdict } = await verifyAttestation(
    {
      envelope: bytesOf(exported, EXPORT_FILES.envelope),
      subject: bytesOf(exported, EXPORT_FILES.result),
      publicKeys,
    },
    {
      tenant,
      subjectName: resultSubjectName(job ?? exported.manifest.job_id),
      mediaType: RESULT_MEDIA_TYPE,
    },
  );
  if (signed === null) return unlogged(refusal(verdict.exitCode, [listed, ...verdict.checks]));
  const proof = given.logProof ?? wholeFile(exported.files, EXPORT_OPTIONAL_FILES.logProof) ?? null;
  const log = await logStanding(signed.statement, proof, expected);
  const canary = await canaryStanding(signed.predicate, given.canary ?? null, publicKeys);
  const beside = { log, canary };
  const recorded = [...attestedChecks(exported, signed), ...log.checks, ...canary.checks];
  const demanded = policy === null ? [] : policy(signed.predicate, Date.now(), beside);
  const exitCode = exitCodeOf(recorded, EXIT.record) || exitCodeOf(demanded, EXIT.policy);
  return {
    exitCode,
    checks: [listed, ...verdict.checks, ...recorded, ...demanded],
    facts: { ...factsOf(signed, beside), ...(exitCode === EXIT.good && calledTools(exported, signed)) },
    notice: exitCode === EXIT.good ? NOTICE : null,
    log,
  };
}

function unlogged(report: Report): ExportReport {
  return { ...report, log: notLogged };
}

/** The tool calls of a job that has tools. */
function calledTools(exported: ExportedJob, { predicate }: Signed): Facts {
  if (predicate.also?.['tools'] === undefined) return {};
  const history = parseLines(bytesOf(exported, EXPORT_FILES.events));
  return 'problem' in history ? {} : callFacts(history.events);
}

/** Compares every other file of the directory with the signed digests. */
function attestedChecks(exported: ExportedJob, { predicate, key_id }: Signed): Check[] {
  const { receipt } = predicate;
  const { files } = exported;
  return [
    manifestCheck(exported, predicate),
    publicKeyCheck(textOf(exported, EXPORT_FILES.publicKey), key_id),
    receiptFileCheck(bytesOf(exported, EXPORT_FILES.receipt), receipt),
    ...historyChecks(exported, receipt, predicate),
    ...programChecks(files, receipt),
  ];
}

/** Compares the job that the unsigned manifest names with the signed one. */
export function manifestCheck({ manifest }: ExportedJob, { jobId, tenant }: ExecutionPredicate): Check {
  const isOfJob = manifest.job_id === jobId && manifest.tenant === tenant;
  return checked('manifest', isOfJob ? null : 'it names another job or tenant than was signed', manifest.job_id);
}

/** Compares the enclosed, untrusted key with the signer's. If they differ, the directory was made wrongly. */
export function publicKeyCheck(pem: string, key_id: string): Check {
  const result = parsePublicKey(pem);
  const isSigner = result.kind === 'key' && result.key.key_id === key_id;
  return checked('public_key_file', isSigner ? null : 'it is not the pinned key that signed', key_id);
}

export function receiptFileCheck(bytes: Uint8Array, signed: StoredReceipt): Check {
  const json = parseStrictJson(bytes);
  const isSame = json.kind === 'value' && canonicalJson(json.value) === canonicalJson(signed);
  return checked(
    'receipt_file',
    isSame ? null : 'it is not the receipt that was signed',
    'the receipt that was signed',
  );
}

/** Checks history, receipt and result. The statement is null if none is known to be signed. */
export function historyChecks(
  exported: ExportedJob,
  receipt: StoredReceipt,
  statement: ExecutionPredicate | null,
): readonly Check[] {
  const history = parseLines(bytesOf(exported, EXPORT_FILES.events));
  if ('problem' in history) return [failed('events', history.problem)];
  const { checks, chain } = checkRecord({ events: history.events, receipt });
  if (chain.kind === 'broken') return checks;
  const artifact = jsonObjectIn(bytesOf(exported, EXPORT_FILES.result)) ?? {};
  const { events } = history;
  return [...checks, resultCheck(artifact, { events, receipt }), ...toolChecks(events, receipt, statement)];
}

/** Checks that the receipt covers each of the program's files: its source, its input and its output. */
export function programChecks(files: ExportFiles, receipt: StoredReceipt): Check[] {
  return Array.from(files)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([path, content]) => {
      const stated = statedDigest(path, receipt);
      if (stated === null) return [];
      const { size_bytes, sha256 } = digestOf(content);
      const problem = stated.sha256 === sha256 ? null : differs(sha256, stated.sha256);
      return [checked(path, problem, `${size_bytes} bytes, sha256:${sha256}`)];
    });
}

/** Says that a digest differs. The receipt may have been changed too, so its values are shown only as text. */
function differs(sha256: string, stated: unknown): string {
  return typeof stated === 'string'
    ? `it has SHA-256 ${sha256}, and the receipt states ${printable(stated, 64)}`
    : 'the receipt does not cover this file';
}

/** The digest that the receipt states for a file; null if the file is not part of the program. */
function statedDigest(path: string, receipt: StoredReceipt): { readonly sha256: unknown } | null {
  if (path === EXPORT_OPTIONAL_FILES.code) return { sha256: receipt['code_sha256'] };
  if (path === EXPORT_OPTIONAL_FILES.stdin) return { sha256: receipt['stdin_sha256'] };
  if (path === EXPORT_OPTIONAL_FILES.args) return { sha256: receipt['args_sha256'] };
  if (path === EXPORT_OPTIONAL_FILES.env) return { sha256: receipt['env_sha256'] };
  if (path === EXPORT_OPTIONAL_FILES.policy) return { sha256: receipt['policy_sha256'] };
  const isInput = path.startsWith('input/');
  if (!isInput && !path.startsWith('output/')) return null;
  const lists = isInput ? ['input_artifacts'] : ['output_artifacts', 'large_outputs'];
  return {
    sha256: lists.map((list) => artifactIn(receipt[list], path)).find((file) => file !== undefined)?.['sha256'],
  };
}

/** The bytes of a file that every export has: an export without these bytes was refused before. */
function bytesOf({ files }: ExportedJob, path: string): Uint8Array<ArrayBuffer> {
  return wholeFile(files, path) ?? new Uint8Array();
}

function textOf(exported: ExportedJob, path: string): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytesOf(exported, path));
}
