/**
 * Compares a job's history, its receipt and its result with one another. Every link of the chain is recomputed, and so is
 * everything that the receipt and the result say about the events. Success shows that the three belong together and are whole.
 * Only a signature shows who made them. Spec § Events 8.
 */
import {
  type ChainProblem,
  type ChainVerification,
  canonicalJson,
  chainStatedIn,
  foldOutput,
  GENESIS_HASH,
  HASH_VERSION,
  isJsonObject,
  outputEvidence,
  outputRecords,
  type StoredReceipt,
  verifyChain,
  verifyReceipt,
  violationsOf,
} from '@vouchbox/evidence';
import type { JobEvent } from '@vouchbox/protocol';
import { type Check, checked, failed, passed } from './report.ts';

export interface JobRecord {
  readonly events: readonly JobEvent[];
  readonly receipt: StoredReceipt | null;
}

export interface RecordVerdict {
  readonly checks: readonly Check[];
  readonly chain: ChainVerification;
}

/** Recomputes the chain and, if a receipt is given, everything that it says about the chain. */
export function checkRecord({ events, receipt }: JobRecord): RecordVerdict {
  if (receipt === null) {
    const chain = verifyChain(events);
    return { checks: [hashedCheck(chain) ?? chainCheck(chain)], chain };
  }
  const { job_id } = receipt;
  const chain = verifyChain(events, { ...(typeof job_id === 'string' && { job_id }), ...chainStatedIn(receipt) });
  const sound = [receiptCheck(receipt), chainCheck(chain)];
  const isSound = sound.every(({ isGood }) => isGood);
  return { checks: isSound ? [...sound, ...contentChecks({ events, receipt, chain })] : sound, chain };
}

/** Whether a parsed result artifact says what follows from the events and the receipt. */
export function resultCheck(
  artifact: Readonly<Record<string, unknown>>,
  { events, receipt }: { readonly events: readonly JobEvent[]; readonly receipt: StoredReceipt },
): Check {
  const stated = RESULT_MEMBERS.filter((name) => Object.hasOwn(receipt, name));
  const expected: [name: string, value: unknown][] = [
    ...stated.map((name): [string, unknown] => [name, receipt[name]]),
    ['stdout', foldOutput(outputRecords(events, 'stdout'))],
    ['stderr', foldOutput(outputRecords(events, 'stderr'))],
    ['violations', violationsOf(events)],
  ];
  const other = expected.find(([name, value]) => !isSame(artifact[name], value));
  const problem = other === undefined ? null : `its ${other[0]} does not follow from the events and the receipt`;
  return checked('result_content', problem, 'stdout, stderr and violations follow from the events');
}

/** Members that a result artifact repeats from the receipt, if the receipt has them. */
const RESULT_MEMBERS = ['signal', 'terminal_reason', 'created_at', 'started_at', 'duration_ms', 'truncated'];

/** Each problem in words that follow the event's number. */
const PROBLEMS: Readonly<Record<ChainProblem, string>> = {
  sequence: 'another event is in its place',
  job: 'it belongs to another job',
  hash_version: 'its hash version is unknown, or older than that of an event before it',
  link: 'its prev_hash is not the digest of the event before it',
  digest: 'its event_hash does not follow from its members',
  missing: 'it is missing: the receipt counts more events than there are',
  surplus: 'it is one more than the receipt counts',
  head: 'its event_hash is not the head in the receipt',
};

function chainCheck(chain: ChainVerification): Check {
  if (chain.kind === 'broken') return failed('chain', `event ${chain.seq}: ${PROBLEMS[chain.problem]}`);
  const legacy = chain.unverifiable === 0 ? '' : `, after ${chain.unverifiable} migrated events that prove nothing`;
  return passed('chain', `${chain.count} links recomputed${legacy}, head ${chain.head}`);
}

/** Refuses a history without hashed events if there is no receipt: only a receipt shows that there are no other events. */
function hashedCheck(chain: ChainVerification): Check | null {
  const isUnhashed = chain.kind === 'intact' && chain.count === 0;
  return isUnhashed ? failed('chain', 'none of the events is hashed: there is nothing to verify') : null;
}

function receiptCheck(receipt: StoredReceipt): Check {
  const digest = verifyReceipt(receipt);
  if (digest.kind === 'broken') return failed('receipt', 'it does not have the digest that it states');
  return passed('receipt', `sha256:${digest.receipt_sha256}`);
}

/** A receipt, its history, and the result of recomputing the history. */
interface Sound {
  readonly events: readonly JobEvent[];
  readonly receipt: StoredReceipt;
  readonly chain: ChainVerification;
}

/** Compares a receipt with its history. Members that a receipt from an older version or a recovery lacks are not checked. */
function contentChecks(sound: Sound): Check[] {
  return [
    checked('chain_summary', summaryProblem(sound), summaryDetail(sound.receipt)),
    checked('finished', finishedProblem(sound), 'the last event is the end that the receipt states'),
    ...(Object.hasOwn(sound.receipt, 'output') ? [outputCheck(sound)] : []),
    ...(Object.hasOwn(sound.receipt, 'output_artifacts') ? [filesCheck('artifacts', sound)] : []),
    ...(hasLargeOutputs(sound) ? [filesCheck('large_outputs', sound)] : []),
  ];
}

function summaryDetail({ event_chain }: StoredReceipt): string {
  return isJsonObject(event_chain)
    ? `as the receipt states: ${String(event_chain['count'])} events`
    : 'the receipt does not state the number of events, so a missing end would not be noticed';
}

function summaryProblem({ receipt: { event_chain }, chain }: Sound): string | null {
  if (event_chain === undefined || chain.kind === 'broken') return null;
  const stated = isJsonObject(event_chain) ? event_chain : {};
  const expected = {
    hash_version: HASH_VERSION,
    genesis: GENESIS_HASH,
    head: chain.head,
    count: chain.count,
    complete: chain.unverifiable === 0,
  };
  const other = Object.entries(expected).find(([name, value]) => stated[name] !== value);
  return other === undefined ? null : `the receipt's ${other[0]} of the chain is wrong`;
}

function finishedProblem({ events, receipt }: Sound): string | null {
  const last = events.at(-1);
  if (last?.kind !== 'finished') return 'the last event is not of the kind finished';
  if (events.filter(({ kind }) => kind === 'finished').length > 1) return 'more than one event is of the kind finished';
  const data = isJsonObject(last.data) ? last.data : {};
  for (const name of ['status', 'exit_code', 'signal', 'terminal_reason', 'duration_ms']) {
    if (name in receipt && name in data && receipt[name] !== data[name]) return `the receipt has another ${name}`;
  }
  return null;
}

function outputCheck({ events, receipt }: Sound): Check {
  const evidence = outputEvidence(events);
  const problem = isSame(receipt['output'], evidence) ? null : 'the digests of the receipt are not those of the events';
  return checked('output', problem, `stdout ${evidence.stdout_bytes} bytes, stderr ${evidence.stderr_bytes} bytes`);
}

/** The file lists in a receipt, and the kinds of events from which they follow. */
const FILES = {
  artifacts: { member: 'output_artifacts', kind: 'artifact' },
  large_outputs: { member: 'large_outputs', kind: 'large_output' },
} as const;

function filesCheck(name: keyof typeof FILES, { events, receipt }: Sound): Check {
  const { member, kind } = FILES[name];
  const recorded = events.filter((event) => event.kind === kind).map(({ data }) => data);
  const problem = isSame(receipt[member], recorded) ? null : 'the receipt lists other files than the events';
  return checked(name, problem, `${recorded.length} recorded`);
}

/** Whether large outputs are stated or recorded: a job that asked for none has neither the member nor such an event. */
function hasLargeOutputs({ events, receipt }: Sound): boolean {
  return Object.hasOwn(receipt, 'large_outputs') || events.some(({ kind }) => kind === 'large_output');
}

/** The file with this path in a receipt's list; undefined if the list lacks it. */
export function artifactIn(list: unknown, path: string): Readonly<Record<string, unknown>> | undefined {
  const artifacts: readonly unknown[] = Array.isArray(list) ? list : [];
  return artifacts.filter(isJsonObject).find((artifact) => artifact['path'] === path);
}

/** Whether two JSON values are the same. A value without a canonical form equals no value. */
function isSame(one: unknown, other: unknown): boolean {
  return one !== undefined && other !== undefined && canonicalJson(one) === canonicalJson(other);
}
