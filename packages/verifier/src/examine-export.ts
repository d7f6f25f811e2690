/**
 * Examines an exported job for a person who looks for a fault. `verifyExport` stops at the first check that decides the verdict.
 * Here every possible check is made, and a finding about unsigned evidence is marked as such. Uses nothing that only Node has.
 */
import {
  digestOf,
  EXPORT_FILES,
  EXPORT_MANIFEST,
  EXPORT_OPTIONAL_FILES,
  type ExportManifest,
  isJsonObject,
  jsonObjectIn,
  type LogKeys,
  parsePublicKey,
  readExportManifest,
  resultSubjectName,
  type StoredReceipt,
  VERIFICATION_STEPS,
} from '@vouchbox/evidence';
import type { JobEvent } from '@vouchbox/protocol';
import { RESULT_MEDIA_TYPE } from '@vouchbox/protocol/vocabulary';
import {
  type AttestationVerdict,
  addedFacts,
  type Signed,
  statedPredicate,
  statedText,
  verifyAttestation,
} from './attestation.ts';
import type { ExportedJob, ExportFiles } from './exported-job.ts';
import { parseExport, wholeFile } from './exported-job.ts';
import { parseLines } from './history.ts';
import { logStanding, notLogged } from './log-standing.ts';
import type { Check, Facts, Report } from './report.ts';
import {
  historyChecks,
  manifestCheck,
  programChecks,
  publicKeyCheck,
  receiptFileCheck,
  verifyExport,
} from './verify-export.ts';

/** A check that passed, failed or was not tried. If it was not tried, `detail` says why. */
export interface ExaminedCheck {
  readonly name: string;
  readonly state: 'passed' | 'failed' | 'not_tried';
  readonly detail: string;
}

/** The facts that are known from elsewhere. */
export interface ExaminationOptions {
  /** PEM texts of the pinned keys. Without any, the key in the export is used, and the verdict is `whole` at best. */
  readonly publicKeys: readonly string[];
  /** The expected tenant; if left out, any tenant's job is accepted. */
  readonly tenant?: string | undefined;
  /** The expected job; if left out, any job is accepted. */
  readonly job?: string | undefined;
  /** The pinned keys of the log; if left out, a proof of the log is not checked. */
  readonly log?: LogKeys | null;
  /** Whether this platform can check Ed25519 signatures: see `canVerifySignatures`. */
  readonly canVerify: boolean;
}

/**
 * `good`: a pinned key signed all of the export. `whole`: the files agree, but no key is pinned. `unchecked`: the files
 * agree, but the signature could not be checked here. `refused`: something is wrong.
 */
export type ExaminationVerdict = 'good' | 'whole' | 'unchecked' | 'refused';

export interface Examination {
  readonly verdict: ExaminationVerdict;
  /** Whether each file is as the manifest lists it; empty without a manifest. */
  readonly files: readonly ExaminedCheck[];
  /** The checks of the attestation, in their order. */
  readonly attestation: readonly ExaminedCheck[];
  /** The comparison of the history with the receipt, and of the result with both. */
  readonly record: readonly ExaminedCheck[];
  /** The comparison of the program, its input and its output with the receipt. */
  readonly program: readonly ExaminedCheck[];
  /** The place of the signed statement in the log; `checks` is empty if there is nothing to check. */
  readonly log: { readonly word: string; readonly checks: readonly ExaminedCheck[] };
  readonly events: readonly JobEvent[];
  /** The index of the first event that does not follow from the events before it; null if all do. */
  readonly brokenAt: number | null;
  /** The receipt; null if none could be read. */
  readonly receipt: StoredReceipt | null;
  /** Whether a pinned key signed the receipt, so that it may be believed. */
  readonly isSigned: boolean;
  /** The id of the key that signed, pinned or not; null if no known key signed. */
  readonly key_id: string | null;
  /** Members that few statements or receipts have: see `addedFacts`. Empty if no known key signed the statement. */
  readonly added: Facts;
  /** The result artifact; null if it could not be read. */
  readonly result: Readonly<Record<string, unknown>> | null;
}

/** Whether this platform checks Ed25519 signatures. A browser does not if the page came from another host without TLS. */
export async function canVerifySignatures(): Promise<boolean> {
  try {
    const point = Uint8Array.of(0x58, ...Array<number>(31).fill(0x66));
    await crypto.subtle.importKey('raw', point, 'Ed25519', false, ['verify']);
    return true;
  } catch {
    return false;
  }
}

/** Examines the files of an export, or an envelope and a result under the names that they have in an export. */
export async function examineExport(files: ExportFiles, options: ExaminationOptions): Promise<Examination> {
  const manifest = manifestOf(files);
  const listing = listingChecks(files, manifest);
  const trusted = await attestationOf(files, options, manifest);
  const signed = trusted.verdict?.signed ?? null;
  const receipt = signed?.predicate.receipt ?? unsignedReceipt(files);
  const history = parseLines(wholeFile(files, EXPORT_FILES.events) ?? new Uint8Array());
  const exported = { manifest: manifest ?? EMPTY_MANIFEST, files };
  const record = recordChecks(exported, { receipt, signed });
  const program = receipt === null ? [] : programChecks(files, receipt).map(stateOf);
  const isSigned = signed !== null && trusted.isPinned;
  const log = await logOf(files, options, signed);
  const all = [...listing, ...trusted.checks, ...record, ...program, ...log.checks];
  // A failed check refuses the export in any case, so the report is left out: a hostile history may be long.
  const isToldWrong = manifest === null || all.some(({ state }) => state === 'failed');
  const report = isToldWrong ? null : await reportOf(files, options, trusted.publicKeys);
  return {
    verdict: verdictOf({ all, report, isSigned, options }),
    files: listing,
    attestation: trusted.checks,
    record,
    program,
    log,
    events: 'problem' in history ? [] : history.events,
    brokenAt: brokenEvent(record),
    receipt,
    isSigned,
    key_id: signed?.key_id ?? null,
    added: signed === null ? {} : addedFacts(signed.predicate),
    result: jsonObjectIn(wholeFile(files, EXPORT_FILES.result)),
  };
}

const EMPTY_MANIFEST = { tenant: '', job_id: '', files: [] } as unknown as ExportManifest;

/** The manifest of an export; null if none can be read. `listingChecks` then says why. */
function manifestOf(files: ExportFiles): ExportManifest | null {
  const bytes = wholeFile(files, EXPORT_MANIFEST);
  const result = bytes === undefined ? null : readExportManifest(bytes);
  return result?.kind === 'manifest' ? result.manifest : null;
}

/** Compares every file with the manifest. A report of a difference has both digests. */
function listingChecks(files: ExportFiles, manifest: ExportManifest | null): ExaminedCheck[] {
  const bytes = wholeFile(files, EXPORT_MANIFEST);
  if (bytes === undefined) return [];
  if (manifest === null) {
    const result = readExportManifest(bytes);
    return [failure(EXPORT_MANIFEST, result.kind === 'refused' ? result.reason : '')];
  }
  const listed = manifest.files.map(({ path, size_bytes, sha256 }): ExaminedCheck => {
    const found = files.get(path);
    if (found === undefined) return failure(path, 'it is listed but missing');
    const is = digestOf(found);
    if (is.size_bytes !== size_bytes)
      return failure(path, `it has ${is.size_bytes} bytes, but ${size_bytes} are listed`);
    if (is.sha256 !== sha256) return failure(path, `its digest is ${is.sha256}, but ${sha256} is listed`);
    return { name: path, state: 'passed', detail: `${size_bytes} bytes, sha256:${sha256}` };
  });
  const known = new Set([EXPORT_MANIFEST, ...manifest.files.map(({ path }) => path)]);
  const surplus = [...files.keys()].filter((path) => !known.has(path));
  return [...listed, ...surplus.map((path) => failure(path, 'it is not listed'))];
}

interface Trusted {
  readonly checks: readonly ExaminedCheck[];
  readonly verdict: AttestationVerdict | null;
  /** The keys that were tried: the pinned keys, or else the key in the export. */
  readonly publicKeys: readonly string[];
  readonly isPinned: boolean;
}

/** Checks the attestation under the pinned keys, or under the key in the export if none is pinned. */
async function attestationOf(
  files: ExportFiles,
  options: ExaminationOptions,
  manifest: ExportManifest | null,
): Promise<Trusted> {
  const isPinned = options.publicKeys.length > 0;
  const enclosed = enclosedKeys(files);
  const publicKeys = isPinned ? options.publicKeys : enclosed;
  const envelope = wholeFile(files, EXPORT_FILES.envelope);
  const subject = wholeFile(files, EXPORT_FILES.result);
  const missing = [
    envelope === undefined && `there is no ${EXPORT_FILES.envelope}`,
    subject === undefined && `there is no ${EXPORT_FILES.result}`,
    !options.canVerify && 'this browser cannot check Ed25519 signatures here',
    publicKeys.length === 0 && 'no key is pinned, and the export has none',
  ].find((reason) => reason !== false);
  if (missing !== undefined || envelope === undefined || subject === undefined) {
    return { checks: stepsNotTried(STEPS, missing ?? ''), verdict: null, publicKeys, isPinned };
  }
  const tenant = options.tenant ?? manifest?.tenant ?? statedText(envelope, 'tenant');
  const job = options.job ?? manifest?.job_id;
  const expected = {
    tenant,
    mediaType: RESULT_MEDIA_TYPE,
    ...(job !== undefined && { subjectName: resultSubjectName(job) }),
  };
  const verdict = await verifyAttestation({ envelope, subject, publicKeys }, expected);
  const made = verdict.checks.map(stateOf);
  const rest = STEPS.slice(made.length);
  const failed = made.at(-1);
  const checks =
    failed?.name === 'signature' && failed.state === 'failed' && isPinned
      ? [...made.slice(0, -1), failure('signature', await otherSigner(files, failed.detail))]
      : made;
  return {
    checks: [...checks, ...stepsNotTried(rest, `${failed?.name ?? ''} failed`.replaceAll('_', ' '))],
    verdict,
    publicKeys,
    isPinned,
  };
}

/** Where the statement stands in the log, if a key that is known here signed it. */
async function logOf(files: ExportFiles, { log = null }: ExaminationOptions, signed: Signed | null) {
  const proof = wholeFile(files, EXPORT_OPTIONAL_FILES.logProof) ?? null;
  const standing = signed === null ? notLogged : await logStanding(signed.statement, proof, { keys: log });
  return { word: standing.word, checks: standing.checks.map(stateOf) };
}

const STEPS = Object.keys(VERIFICATION_STEPS);

function stepsNotTried(steps: readonly string[], detail: string): ExaminedCheck[] {
  return steps.map((name) => ({ name, state: 'not_tried', detail }));
}

function enclosedKeys(files: ExportFiles): string[] {
  const bytes = wholeFile(files, EXPORT_FILES.publicKey);
  const pem = bytes === undefined ? null : new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  return pem !== null && parsePublicKey(pem).kind === 'key' ? [pem] : [];
}

/** Distinguishes an envelope that was changed from an envelope that another key signed. */
async function otherSigner(files: ExportFiles, detail: string): Promise<string> {
  const [enclosed] = enclosedKeys(files);
  if (enclosed === undefined) return detail;
  const bytes = {
    envelope: wholeFile(files, EXPORT_FILES.envelope) ?? null,
    subject: new Uint8Array(),
    publicKeys: [enclosed],
  };
  const { checks } = await verifyAttestation(bytes, { tenant: '', mediaType: RESULT_MEDIA_TYPE });
  const isSigner = checks.some(({ name, isGood }) => name === 'signature' && isGood);
  const key = parsePublicKey(enclosed);
  if (isSigner && key.kind === 'key') return `${detail}: the key in the export, ${key.key.key_id}, signed it`;
  return `${detail}, nor under the key in the export: ${EXPORT_FILES.envelope} was changed`;
}

/** The receipt from its file or from the envelope. Nothing has verified it yet. */
function unsignedReceipt(files: ExportFiles): StoredReceipt | null {
  const envelope = wholeFile(files, EXPORT_FILES.envelope);
  const stated = envelope === undefined ? undefined : statedPredicate(envelope)?.['receipt'];
  return jsonObjectIn(wholeFile(files, EXPORT_FILES.receipt)) ?? (isJsonObject(stated) ? stated : null);
}

function recordChecks(
  exported: ExportedJob,
  { receipt, signed }: { readonly receipt: StoredReceipt | null; readonly signed: Signed | null },
): ExaminedCheck[] {
  const { files } = exported;
  if (!files.has(EXPORT_FILES.events)) return [];
  if (receipt === null) return [{ name: 'receipt', state: 'failed', detail: 'no receipt can be read' }];
  const receiptFile = wholeFile(files, EXPORT_FILES.receipt);
  const keyFile = wholeFile(files, EXPORT_FILES.publicKey);
  const compared: Check[] = [];
  if (signed !== null) {
    if (files.has(EXPORT_MANIFEST)) compared.push(manifestCheck(exported, signed.predicate));
    if (receiptFile !== undefined) compared.push(receiptFileCheck(receiptFile, receipt));
    if (keyFile !== undefined) compared.push(publicKeyCheck(new TextDecoder().decode(keyFile), signed.key_id));
  }
  const bytes = { ...exported, files: new Map([[EXPORT_FILES.result, new Uint8Array()], ...files]) };
  return [...compared, ...historyChecks(bytes, receipt, signed?.predicate ?? null)].map(stateOf);
}

/** The report of `service-verify directory` on the same bytes and keys. */
async function reportOf(files: ExportFiles, options: ExaminationOptions, publicKeys: readonly string[]) {
  const exported = parseExport(files);
  if (!options.canVerify || publicKeys.length === 0) return null;
  const tenant = options.tenant ?? manifestOf(files)?.tenant ?? '';
  return await verifyExport(exported, { publicKeys, tenant, job: options.job });
}

interface Grounds {
  readonly all: readonly ExaminedCheck[];
  /** The report; null if there is no manifest, a check failed, or no signature could be checked. */
  readonly report: Report | null;
  readonly isSigned: boolean;
  readonly options: ExaminationOptions;
}

/** The verdict: a failed check refuses the export, and so does a bad report. */
function verdictOf({ all, report, isSigned, options }: Grounds): ExaminationVerdict {
  const isBad = all.length === 0 || all.some(({ state }) => state === 'failed');
  if (isBad || (report !== null && report.exitCode !== 0)) return 'refused';
  if (!options.canVerify) return 'unchecked';
  if (isSigned) return 'good';
  return options.publicKeys.length === 0 ? 'whole' : 'refused';
}

/** The index of the first broken event. Its number is stated only in the text of a check made by `checkRecord`. */
function brokenEvent(record: readonly ExaminedCheck[]): number | null {
  const chain = record.find(({ name, state }) => name === 'chain' && state === 'failed');
  const [, seq] = /^event (\d+):/.exec(chain?.detail ?? '') ?? [];
  return seq === undefined ? null : Number(seq) - 1;
}

function stateOf({ name, isGood, detail }: Check): ExaminedCheck {
  return { name, state: isGood ? 'passed' : 'failed', detail };
}

function failure(name: string, detail: string): ExaminedCheck {
  return { name, state: 'failed', detail };
}
