/**
 * Asks all of the log's witnesses at once to sign a head, and waits a bounded time. Only lines signed by a witness's own
 * key count. All answers are treated as hostile. If a witness shows a head that the log's key signed but our tree does not
 * begin with, our store was rolled back. Any other answer is only the witness's opinion. https://c2sp.org/tlog-witness.
 */
import { readFileSync } from 'node:fs';
import {
  type Checkpoint,
  consistencyText,
  cosignedAt,
  decimalOf,
  type Hash,
  headProblem,
  linesOf,
  type NoteKey,
  type NoteSignature,
  noteBytesMax,
  noteText,
  parseCheckpoint,
  parseNoteKey,
  parseSignatureLines,
  readUpTo,
} from '@vouchbox/evidence';
import { StartError } from '../../ground/start-error.ts';

export interface WitnessAddress {
  /** The witness's key, of type `cosignature`. */
  readonly key: NoteKey;
  /** The witness's address, without a slash at its end. */
  readonly url: string;
}

const witnessesMax = 16;

/** The witnesses in a file. Each line has a key as `NAME+HINT+BASE64` and an address. @throws StartError */
export function readWitnesses(path: string): readonly WitnessAddress[] {
  const refuse = (reason: string, cause?: unknown) => new StartError(`the witnesses in ${path}: ${reason}`, { cause });
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw refuse('the file cannot be read', cause);
  }
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
  if (lines.length > witnessesMax) throw refuse(`the file has more than ${witnessesMax} witnesses`);
  return lines.map((line, at) => {
    const [key = '', url = '', ...rest] = line.trim().split(/\s+/);
    const parsed = parseNoteKey(key);
    const isAddress = /^https?:$/.test(URL.parse(url)?.protocol ?? '') && rest.length === 0;
    if (parsed.kind === 'refused') throw refuse(`entry ${at + 1} has no key: ${parsed.reason}`);
    if (parsed.key.type !== 'cosignature') throw refuse(`entry ${at + 1} has the key of a log, not of a witness`);
    if (!isAddress) throw refuse(`entry ${at + 1} must be a key and an http or https address`);
    return { key: parsed.key, url: url.replace(/\/+$/, '') };
  });
}

/** The facts about this service's log that a comparison with a witness needs. */
export interface OwnLog {
  readonly key: NoteKey;
  /** The hashes which prove that a tree of `size` leaves begins with the tree of its first `old` leaves. */
  readonly proof: (old: number, size: number) => Promise<readonly Hash[]>;
  /** Whether our present tree begins with the head's tree. */
  readonly has: (head: Checkpoint) => Promise<boolean>;
}

export interface Witnessing {
  /** The witnesses' lines for the head that was asked about. */
  readonly lines: readonly NoteSignature[];
  /** A head that our own key signed but our tree does not begin with; null if no witness showed such a head. */
  readonly missed: Checkpoint | null;
  /** Whether any witness said something about the log. */
  readonly hasAnswered: boolean;
}

/** A witness's last answer. `silent` means that the witness could not be reached, or failed. */
export interface WitnessStanding {
  readonly name: string;
  readonly state: 'signs' | 'disagrees' | 'silent' | 'not_asked';
  readonly reason: string | null;
}

interface Witness extends WitnessAddress {
  /** How much of the log the witness is known to have. */
  known: { readonly origin: string; readonly size: number };
  standing: WitnessStanding;
  failures: number;
  restsUntil: number;
}

export interface WitnessesOptions {
  readonly addresses: readonly WitnessAddress[];
  /** How long a head waits for the witnesses. */
  readonly milliseconds?: number;
  readonly onChange?: (standing: WitnessStanding) => void;
}

const patienceMilliseconds = 2000;
const firstRest = 5000;
const longestRest = 300_000;

export class Witnesses {
  readonly #witnesses: readonly Witness[];
  readonly #options: WitnessesOptions;

  constructor(options: WitnessesOptions) {
    this.#options = options;
    this.#witnesses = options.addresses.map((address) => ({
      ...address,
      known: { origin: '', size: 0 },
      standing: { name: address.key.name, state: 'not_asked', reason: null },
      failures: 0,
      restsUntil: 0,
    }));
  }

  get standings(): readonly WitnessStanding[] {
    return this.#witnesses.map(({ standing }) => standing);
  }

  /** Resolves within the time, with the answers that came by then. A witness that failed lately is asked only with `all`. */
  async ask(head: Checkpoint, own: OwnLog, { all = false } = {}): Promise<Witnessing> {
    const asked = this.#witnesses.filter(({ restsUntil }) => all || restsUntil <= performance.now());
    const answers = await Promise.all(asked.map((witness) => this.#answerOf(witness, head, own)));
    const missed = answers.flatMap((answer) => (answer.kind === 'missed' ? [answer.head] : []));
    return {
      lines: answers.flatMap((answer) => (answer.kind === 'signs' ? answer.lines : [])),
      missed: missed.sort((one, other) => other.size - one.size)[0] ?? null,
      hasAnswered: answers.some(({ kind }) => kind !== 'silent'),
    };
  }

  /** The heads of this log's tree that witnesses show. A witness that runs different software may show none. */
  async shown(key: NoteKey): Promise<Pick<Witnessing, 'hasAnswered'> & { readonly heads: readonly Checkpoint[] }> {
    const { milliseconds = patienceMilliseconds } = this.#options;
    const answers = await Promise.allSettled(
      this.#witnesses.map((one) => headOf(one, key, AbortSignal.timeout(milliseconds))),
    );
    const heads = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    return { heads: heads.filter((head) => head !== null), hasAnswered: heads.length > 0 };
  }

  async #answerOf(witness: Witness, head: Checkpoint, own: OwnLog): Promise<Answer> {
    const { milliseconds = patienceMilliseconds } = this.#options;
    const answer = await askOne(witness, head, { own, signal: AbortSignal.timeout(milliseconds) }).catch(
      (error: unknown): Answer => ({ kind: 'silent', reason: (error as Error).message }),
    );
    if (answer.kind === 'signs') witness.known = { origin: head.origin, size: head.size };
    if (answer.kind !== 'late') this.#note(witness, answer);
    return answer;
  }

  #note(witness: Witness, answer: Exclude<Answer, { kind: 'late' }>): void {
    witness.failures = answer.kind === 'silent' ? witness.failures + 1 : 0;
    const rest = Math.min(longestRest, firstRest * 2 ** Math.min(witness.failures - 1, 10));
    witness.restsUntil = answer.kind === 'silent' ? performance.now() + rest : 0;
    const state = answer.kind === 'missed' ? 'disagrees' : answer.kind;
    const before = witness.standing.state;
    const reason = answer.kind === 'missed' ? `it has seen ${answer.head.size} leaves` : (answer.reason ?? null);
    witness.standing = { name: witness.key.name, state, reason };
    if (before !== state) this.#options.onChange?.(witness.standing);
  }
}

type Answer =
  | { readonly kind: 'signs'; readonly lines: readonly NoteSignature[]; readonly reason?: never }
  | { readonly kind: 'missed'; readonly head: Checkpoint }
  | { readonly kind: 'disagrees' | 'silent'; readonly reason: string }
  /** The witness was shown a later head of this log. */
  | { readonly kind: 'late' };

interface Asking {
  readonly own: OwnLog;
  readonly signal: AbortSignal;
}

async function askOne(witness: Witness, head: Checkpoint, asking: Asking): Promise<Answer> {
  const { own } = asking;
  let old = witness.known.origin === head.origin ? Math.min(witness.known.size, head.size) : 0;
  let answer = await addCheckpoint(witness, { head, old }, asking);
  const size = answer.status === 409 ? decimalOf(answer.text.trim()) : null;
  if (size !== null && size !== old && size <= head.size) {
    old = size;
    answer = await addCheckpoint(witness, { head, old }, asking);
  }
  if (answer.status === 200) return await signedBy(witness, head, answer.text);
  const shown = await headOf(witness, own.key, asking.signal).catch(() => null);
  if (shown !== null) {
    if (!(await own.has(shown))) return { kind: 'missed', head: shown };
    if (shown.size > head.size) return { kind: 'late' };
  }
  return { kind: 'disagrees', reason: `it answered ${answer.status}` };
}

async function addCheckpoint(
  { url }: WitnessAddress,
  { head, old }: { readonly head: Checkpoint; readonly old: number },
  { own, signal }: Asking,
): Promise<HttpAnswer> {
  const body = consistencyText(old, await own.proof(old, head.size), noteText(head.note));
  return await exchange(`${url}/add-checkpoint`, { method: 'POST', body, signal });
}

async function signedBy({ key }: WitnessAddress, head: Checkpoint, text: string): Promise<Answer> {
  // Only lines signed by the pinned key are kept. A line that another key signed under the same name would prove nothing.
  const lines = linesOf(parseSignatureLines(text) ?? [], key);
  const time = await cosignedAt({ text: head.note.text, signatures: lines }, key);
  return typeof time === 'number'
    ? { kind: 'signs', lines }
    : { kind: 'disagrees', reason: 'its answer is not signed by its key' };
}

/** Our log's head as a witness shows it, with the lines of the log and the witness. Null unless the log's key signed the head. */
async function headOf({ url, key }: WitnessAddress, log: NoteKey, signal: AbortSignal): Promise<Checkpoint | null> {
  const answer = await exchange(`${url}/checkpoint?origin=${encodeURIComponent(log.name)}`, { signal });
  const parsed = answer.status === 200 ? parseCheckpoint(answer.text) : null;
  if (parsed?.kind !== 'checkpoint' || (await headProblem(parsed.checkpoint, log)) !== null) return null;
  const { text, signatures } = parsed.checkpoint.note;
  const isWitnessed = typeof (await cosignedAt({ text, signatures }, key)) === 'number';
  const lines = [...linesOf(signatures, log).slice(0, 1), ...(isWitnessed ? linesOf(signatures, key).slice(0, 1) : [])];
  return { ...parsed.checkpoint, note: { text, signatures: lines } };
}

interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

async function exchange(url: string, request: RequestInit): Promise<HttpAnswer> {
  const response = await fetch(url, { ...request, redirect: 'error' });
  if (response.status >= 500 || response.status === 429) throw new Error(`it answered ${response.status}`);
  const bytes = await readUpTo(response.body, noteBytesMax);
  if (bytes === null) throw new Error('its answer is too long');
  return { status: response.status, text: Buffer.from(bytes.buffer).toString() };
}
