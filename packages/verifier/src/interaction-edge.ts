/**
 * The edge between two jobs whose programs talked: one program's input is the beginning of the other's output. Each receipt
 * states its own end of the edge. Uses nothing that only Node has.
 */
import {
  EXPORT_FILES,
  type GraphInput,
  isJsonObject,
  jsonObjectIn,
  type StoredReceipt,
  sha256Hex,
} from '@vouchbox/evidence';
import { outputText, STDIN } from '@vouchbox/protocol/vocabulary';
import { type ExportFiles, type ExportProblem, isProblem, wholeFile } from './exported-job.ts';

/** A receipt's facts about the other job of a pair. */
export interface StatedInteraction {
  readonly peer: string;
  readonly role: string;
  /** Null if the program did not run. */
  readonly given: { readonly bytes: number; readonly sha256: string } | null;
}

const OUTPUT = 'stdout';

/** The interaction that a receipt states; null if the program talked to no other program, or if the statement is malformed. */
export function interactionOf(receipt: StoredReceipt | null): StatedInteraction | null {
  const said = receipt?.['interaction'];
  if (!isJsonObject(said)) return null;
  const { peer, role, stdin } = said;
  if (typeof peer !== 'string' || typeof role !== 'string') return null;
  if (!isJsonObject(stdin)) return { peer, role, given: null };
  const { bytes_delivered: bytes, raw_sha256: sha256 } = stdin;
  return { peer, role, given: typeof bytes === 'number' && typeof sha256 === 'string' ? { bytes, sha256 } : null };
}

/** The interaction as an edge of a graph. */
export function interactionInput({ peer }: StatedInteraction): GraphInput {
  return { path: STDIN, from: { job_id: peer, path: OUTPUT } };
}

/** Whether the other program of a pair wrote the input. If the input is a job's file, that file is under `output/`. */
export function isInteraction({ path, from }: GraphInput): boolean {
  return path === STDIN && from.path === OUTPUT;
}

/** The digest that both ends of the edge have, or what is wrong. Both members are null if the program was given nothing. */
export interface ComparedInteraction {
  readonly sha256: string | null;
  readonly problem: string | null;
}

/** A job of a pair. */
export interface InteractionEnd {
  readonly job_id: string;
  readonly receipt: StoredReceipt | null;
}

/**
 * Compares a job's input with the other job's output. `readOther` reads the other job's export. If its record has all bytes of
 * the output, the digest of the beginning is computed again from that record.
 */
export async function compareInteraction(
  one: InteractionEnd,
  other: InteractionEnd,
  readOther: () => Promise<ExportFiles | ExportProblem>,
): Promise<ComparedInteraction> {
  const [here, there] = [interactionOf(one.receipt), interactionOf(other.receipt)];
  const wrong = (problem: string): ComparedInteraction => ({ sha256: null, problem });
  if (there?.peer !== one.job_id || there.role === here?.role)
    return wrong(`${other.job_id} does not say that its program talked to this one`);
  const given = here?.given ?? null;
  if (given === null) return { sha256: null, problem: null };
  const wrote = writtenBy(other.receipt);
  if (wrote === null) return wrong(`the receipt of ${other.job_id} does not say what its program wrote`);
  if (given.bytes > wrote.bytes)
    return wrong(`${given.bytes} bytes were given, and ${other.job_id} wrote ${wrote.bytes}`);
  const digest = given.bytes === wrote.bytes ? wrote.sha256 : beginningOf(await readOther(), wrote, given.bytes);
  if (digest === null || digest === given.sha256) return { sha256: given.sha256, problem: null };
  return wrong(`${given.sha256} was given, and ${other.job_id} wrote ${digest}`);
}

/** The size and the digest of the standard output, as the executor counted it. */
function writtenBy(receipt: StoredReceipt | null): StatedInteraction['given'] {
  const output = receipt?.['executor_output'];
  const stdout = isJsonObject(output) ? output['stdout'] : null;
  if (!isJsonObject(stdout)) return null;
  const { bytes_seen: bytes, raw_sha256: sha256 } = stdout;
  return typeof bytes === 'number' && typeof sha256 === 'string' ? { bytes, sha256 } : null;
}

/** The digest of the first bytes; null if the record does not have every byte that was written. */
function beginningOf(
  files: ExportFiles | ExportProblem,
  wrote: NonNullable<StatedInteraction['given']>,
  bytes: number,
): string | null {
  const events = isProblem(files) ? undefined : wholeFile(files, EXPORT_FILES.events);
  if (events === undefined) return null;
  const recorded = new TextEncoder().encode(stdoutIn(events));
  return sha256Hex(recorded) === wrote.sha256 ? sha256Hex(recorded.subarray(0, bytes)) : null;
}

/** The text of standard output in events that were already checked. */
function stdoutIn(events: Uint8Array<ArrayBuffer>): string {
  let text = '';
  for (const line of new TextDecoder().decode(events).split('\n')) {
    const event = jsonObjectIn(new TextEncoder().encode(line));
    if (event?.['kind'] !== 'stdout' || !isJsonObject(event['data'])) continue;
    const { text: piece, partial } = event['data'];
    if (typeof piece === 'string') text += outputText({ text: piece, partial: partial === true });
  }
  return text;
}
