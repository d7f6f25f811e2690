/**
 * Decides whether results from several services agree. Each result must be good. All must come from one program with one input,
 * and that program must always have ended in the same way with the same output. Uses nothing that only Node has.
 */
import {
  canonicalJson,
  EXPORT_FILES,
  EXPORT_OPTIONAL_FILES,
  foldOutput,
  isJsonObject,
  jsonObjectIn,
  outputRecords,
  type StoredReceipt,
  sha256Hex,
  Transcript,
} from '@vouchbox/evidence';
import type { JobEvent } from '@vouchbox/protocol';
import { EXIT } from './exit-code.ts';
import { type ExportedJob, type ExportProblem, wholeFile } from './exported-job.ts';
import { eventsOf } from './history.ts';
import { type Check, checked, failed, passed, type Report, refusal } from './report.ts';
import { type ExportExpectation, verifyExport } from './verify-export.ts';

/** An export, and the name that its reader gives it. */
export interface NamedExport {
  readonly name: string;
  readonly exported: ExportedJob | ExportProblem;
}

export interface AgreeExpectation extends Pick<ExportExpectation, 'publicKeys' | 'policy'> {
  /** How many different keys must have signed the results. */
  readonly operatorsMin?: number;
}

/** A result whose whole export was found good. */
export interface ComparedRun {
  readonly name: string;
  readonly job_id: string;
  readonly tenant: string;
  readonly key_id: string;
  readonly isolation_class: string | null;
}

export type Agreement = 'agree' | 'differ' | 'not_comparable' | 'refused';

export interface AgreeReport extends Report {
  readonly agreement: Agreement;
  /** Members that differ between the results, or that make the results incomparable. */
  readonly members: readonly string[];
  readonly runs: readonly ComparedRun[];
}

const NOTICE =
  'This shows that holders of these pinned keys signed the same result of the same program. It does not show that they are ' +
  'independent of one another, which only you can know, or that the result is right.';

/** Compares every export with the first. Each operator has its own tenant, so no tenant is expected. */
export async function compareRuns(
  given: readonly NamedExport[],
  { publicKeys, policy = null, operatorsMin = 1 }: AgreeExpectation,
): Promise<AgreeReport> {
  const checks: Check[] = [];
  const runs: Run[] = [];
  for (const { name, exported } of given) {
    const tenant = 'problem' in exported ? '' : exported.manifest.tenant;
    const report = await verifyExport(exported, { publicKeys, tenant, policy });
    const bad = report.checks.find(({ isGood }) => !isGood);
    if (bad !== undefined || 'problem' in exported) {
      const refused = refusal(report.exitCode, [...checks, failed(name, `${bad?.name}: ${bad?.detail}`)]);
      return { ...refused, agreement: 'refused', members: [], runs: [] };
    }
    const run = runOf(name, exported, report);
    checks.push(passed(name, `${run.job_id} of ${run.tenant}, by ${run.key_id}`));
    runs.push(run);
  }
  return compared(runs, checks, operatorsMin);
}

/** A run's input and outcome, keyed by the names under which differences are reported. */
interface Run extends ComparedRun {
  readonly given: Members;
  readonly ended: Members;
}

/** Texts to compare. Null stands for a value that the receipt does not state, and never counts as equal. */
type Members = ReadonlyMap<string, string | null>;

function compared(runs: readonly Run[], checks: readonly Check[], operatorsMin: number): AgreeReport {
  const told = runs.map(({ given: _given, ended: _ended, ...run }) => run);
  const foreign = differing(runs.map(({ given }) => given));
  if (foreign.length > 0) {
    const refused = refusal(EXIT.policy, [...checks, failed('agree', `NOT COMPARABLE: ${foreign.join(', ')}`)]);
    return { ...refused, agreement: 'not_comparable', members: foreign, runs: told };
  }
  const other = differing(runs.map(({ ended }) => ended));
  if (other.length > 0) {
    const refused = refusal(EXIT.record, [...checks, failed('agree', `DIFFER: ${other.join(', ')}`)]);
    return { ...refused, agreement: 'differ', members: other, runs: told };
  }
  const [first] = runs as [Run, ...Run[]];
  const operators = new Set(runs.map(({ key_id }) => key_id)).size;
  const isEnough = operators >= operatorsMin;
  const said = `signed by ${operators} ${operators === 1 ? 'key' : 'different keys'}`;
  const last = [
    passed('agree', `AGREE ${runs.length} of ${runs.length}`),
    checked('operators', isEnough ? null : `${said}, and ${operatorsMin} are required`, said),
  ];
  const facts = {
    operators,
    code_sha256: first.given.get('code') ?? null,
    stdout_sha256: first.ended.get('stdout') ?? null,
  };
  return {
    exitCode: isEnough ? EXIT.good : EXIT.policy,
    checks: [...checks, ...last],
    facts,
    notice: isEnough ? NOTICE : null,
    agreement: 'agree',
    members: [],
    runs: told,
  };
}

/** The names of members that differ between runs, or that a run does not state. */
function differing(runs: readonly Members[]): readonly string[] {
  const names = new Set(runs.flatMap((members) => [...members.keys()]));
  return [...names].filter((name) => {
    const texts = new Set(runs.map((members) => members.get(name)));
    return texts.size > 1 || texts.has(null);
  });
}

function runOf(name: string, exported: ExportedJob, { facts }: Report): Run {
  const receipt = jsonObjectIn(wholeFile(exported.files, EXPORT_FILES.receipt)) as StoredReceipt;
  return {
    name,
    job_id: String(facts['job_id']),
    tenant: String(facts['tenant']),
    key_id: String(facts['key_id']),
    isolation_class: facts['isolation_class'] === null ? null : String(facts['isolation_class']),
    given: givenTo(exported, receipt),
    ended: endOf(exported, receipt),
  };
}

function givenTo(exported: ExportedJob, receipt: StoredReceipt): Members {
  const pack = receipt['runtime_pack'];
  return new Map<string, string | null>([
    ...(receipt['interaction'] === undefined ? [] : [['interaction', null] as const]),
    ['language', stated(receipt['language'])],
    ['code', stated(receipt['code_sha256'])],
    ['stdin', given(receipt['stdin_sha256'])],
    ['args', given(receipt['args_sha256'])],
    ['env', given(receipt['env_sha256'])],
    ['inputs', Array.isArray(receipt['input_artifacts']) ? artifacts(receipt['input_artifacts']) : null],
    ...policyMembers(exported, receipt),
    ['pack', isJsonObject(pack) ? stated(pack['digest']) : null],
  ]);
}

/**
 * What the job demanded. At each service, different jobs made the inputs, a different build made the product and different
 * principals answer tools, so only contents are compared. If the policy is missing, its digest is compared.
 */
function policyMembers(exported: ExportedJob, receipt: StoredReceipt): readonly (readonly [string, string | null])[] {
  const policy = jsonObjectIn(wholeFile(exported.files, EXPORT_OPTIONAL_FILES.policy));
  if (policy === null) return [['policy', stated(receipt['policy_sha256'])]];
  const { inputs: _inputs, product: _product, tools, ...demanded } = policy;
  const { answered_by: _who, ...offered } = isJsonObject(tools) ? tools : {};
  return Object.entries({ ...demanded, ...(tools !== undefined && { tools: offered }) }).map(
    ([name, value]) => [`policy.${name}`, canonicalJson(value)] as const,
  );
}

function endOf(exported: ExportedJob, receipt: StoredReceipt): Members {
  const events = eventsOf(exported);
  // How output is cut into records depends on timing; the text of the output does not.
  const digest = (stream: 'stdout' | 'stderr') =>
    sha256Hex(new TextEncoder().encode(foldOutput(outputRecords(events, stream))));
  const calls = receipt['tool_limits'] === undefined ? [] : [['tool_calls', transcriptOf(events)] as const];
  return new Map<string, string>([
    ...calls,
    ['status', canonicalJson(receipt['status'] ?? null)],
    ['exit_code', canonicalJson(receipt['exit_code'] ?? null)],
    ['signal', canonicalJson(receipt['signal'] ?? null)],
    ['terminal_reason', canonicalJson(receipt['terminal_reason'] ?? null)],
    ['stdout', digest('stdout')],
    ['stderr', digest('stderr')],
    ['truncated', canonicalJson(receipt['truncated'] ?? null)],
    ['outputs', artifacts(receipt['output_artifacts'])],
    ['large_outputs', artifacts(receipt['large_outputs'])],
  ]);
}

/** Tool calls and their answers. The order does not matter, because calls open at the same time have no fixed order. */
function transcriptOf(events: readonly JobEvent[]): string {
  const transcript = new Transcript();
  for (const event of events) transcript.add(event);
  return transcript.text().split('\n').sort().join('\n');
}

/** The paths and digests of the listed files. The order of the list does not matter. */
function artifacts(list: unknown): string {
  const files: readonly unknown[] = Array.isArray(list) ? list : [];
  const lines = files.filter(isJsonObject).map(({ path, sha256 }) => canonicalJson([path, sha256]));
  return lines.sort().join('\n');
}

function stated(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** A digest, or `none` if it is missing. A receipt without digests also lacks the code's, so its result stays incomparable. */
function given(digest: unknown): string | null {
  return digest === undefined || digest === null ? 'none' : stated(digest);
}
