/**
 * Keeps a log from being rolled back. Nothing is logged into a store that is older than a head that this node signed or a witness
 * knows. Only a head that the log's key signed can stop the log. docs/decisions/0067.
 */
import {
  type Checkpoint,
  checkpointText,
  consistencyRanges,
  equalHashes,
  headProblem,
  logNameOf,
  type NoteKey,
  noteText,
  originOfLog,
  parseCheckpoint,
  parseNoteKey,
  treeKeyOf,
} from '@vouchbox/evidence';
import type { LogHead, LogState } from '../../store/records/log.ts';
import type { Store } from '../../store/store.ts';
import { readLogMark, writeLogMark } from './log-mark.ts';
import { LogStopped } from './log-stopped.ts';
import type { OwnLog, Witnesses } from './witnesses.ts';

export interface LogGuardOptions {
  readonly store: Pick<Store, 'logState' | 'logRanges'>;
  readonly dataDir: string;
  /** Null if the log has no witnesses. */
  readonly witnesses: Witnesses | null;
}

export class LogGuard {
  readonly #options: LogGuardOptions;
  /** Undefined until it has been read. */
  #mark: Checkpoint | null | undefined;
  /** The tree that was compared with the witnesses' heads in this node's turn; null if none has been compared yet. */
  #compared: string | null = null;

  constructor(options: LogGuardOptions) {
    this.#options = options;
  }

  /** Notes that another node may now change the store, so that the witnesses must be asked again. */
  lostTurn(): void {
    this.#compared = null;
  }

  /** The largest head that the tree's key signed, from store, mark or witness: its copy with the most signatures. */
  async lastHead(state: LogState): Promise<Checkpoint | null> {
    const { dataDir, witnesses } = this.#options;
    const key = ownKey(state);
    const mark = await readLogMark(dataDir);
    const isOurs = mark?.origin === key.name && (await headProblem(mark, key)) === null;
    const known = [
      ...(state.head === null ? [] : [checkpointOf(state.head)]),
      ...(isOurs ? [mark] : []),
      ...((await witnesses?.shown(key))?.heads ?? []),
    ];
    const lines = ({ note }: Checkpoint) => note.signatures.length;
    return known.sort((one, other) => other.size - one.size || lines(other) - lines(one))[0] ?? null;
  }

  /** @throws LogStopped if the store is older than the log */
  async refuseOlder(state: LogState): Promise<void> {
    if (state.size === 0)
      throw new LogStopped(
        'the log is closed, because the store was restored or copied: `vouchbox log reopen` opens its next tree',
      );
    const origin = originOfLog(state);
    const isNew = this.#compared !== origin;
    await this.#refuseBehindMark(state, { isWhole: isNew });
    if (!isNew) return;
    const { head } = state;
    const asked = head === null ? this.#refuseShown(state) : this.#witnessed(checkpointOf(head), state, { all: true });
    if (!(await asked).hasAnswered)
      throw new LogStopped(
        'no witness has answered since this node began to log, and a witness may know that the store is older than the log. ' +
          'Results are signed now, and logged once a witness answers',
      );
    this.#compared = origin;
  }

  /** For a store without a head: refuses to log if a witness shows a head, unless the store's tree begins with the head's. */
  async #refuseShown(state: LogState) {
    const { witnesses } = this.#options;
    const { heads, hasAnswered } = (await witnesses?.shown(ownKey(state))) ?? { heads: [], hasAnswered: true };
    for (const head of heads) {
      if (!(await this.#has(head))) await this.#takenBack(head, state);
    }
    return { hasAnswered };
  }

  /**
   * Adds the lines of witnesses that sign the head in time. The head becomes the mark before any witness sees it.
   * @throws LogStopped if the tree does not continue the mark's tree, or the tree of a head that a witness shows
   */
  async guarded(head: LogHead, state: LogState): Promise<LogHead> {
    await this.#refuseBehindMark(state, { isWhole: true });
    const checkpoint = checkpointOf(head);
    await this.#keep(checkpoint);
    const { lines } = await this.#witnessed(checkpoint, state);
    const { text, signatures } = checkpoint.note;
    return { ...head, checkpoint: noteText({ text, signatures: [...signatures, ...lines] }) };
  }

  /** If `isWhole` is true, the tree itself is compared, and not only its size. */
  async #refuseBehindMark(state: LogState, { isWhole }: { readonly isWhole: boolean }): Promise<void> {
    this.#mark ??= await readLogMark(this.#options.dataDir);
    const mark = this.#mark;
    const name = mark === null ? null : logNameOf(mark.origin);
    if (mark === null || name?.host !== state.host || name.tree < state.tree) return;
    const key = treeKeyOf(ownKey(state), mark.origin);
    if (key === null || (await headProblem(mark, key)) !== null)
      throw new LogStopped('the mark of the log is not signed by its key: restore log-key.pem, or remove log-mark');
    if (name.tree > state.tree) throw takenBack(state, mark);
    if (mark.size > state.size || (isWhole && !(await this.#has(mark)))) throw takenBack(state, mark);
  }

  async #witnessed(head: Checkpoint, state: LogState, options?: { readonly all: boolean }) {
    const { witnesses, store } = this.#options;
    if (witnesses === null) return { lines: [], hasAnswered: true };
    const own: OwnLog = {
      key: ownKey(state),
      proof: (old, size) => store.logRanges(consistencyRanges(old, size)),
      has: (other) => this.#has(other),
    };
    const answered = await witnesses.ask(head, own, options);
    return answered.missed === null ? answered : await this.#takenBack(answered.missed, state);
  }

  /** Keeps a witness's head as if this node had signed it, so that the log stays closed even if no witness can be reached. */
  async #takenBack(missed: Checkpoint, state: LogState): Promise<never> {
    await this.#keep(missed);
    throw takenBack(state, missed);
  }

  /** Whether the tree that the store has now begins with a head's tree. */
  async #has({ origin, size, root }: Checkpoint): Promise<boolean> {
    const { store } = this.#options;
    const state = await store.logState();
    if (state === null || originOfLog(state) !== origin || state.size < size) return false;
    const [own] = await store.logRanges([{ start: 0, end: size }]);
    return own !== undefined && equalHashes(own, root);
  }

  async #keep(head: Checkpoint): Promise<void> {
    await writeLogMark(this.#options.dataDir, head);
    this.#mark = head;
  }
}

function takenBack({ size, tree }: LogState, { origin, size: signed, root }: Checkpoint): LogStopped {
  const [, leaves, hash] = checkpointText(origin, { size: signed, root }).split('\n');
  const has = logNameOf(origin)?.tree === tree ? `has ${size} leaves, or other leaves` : `has tree ${tree}`;
  return new LogStopped(
    `the store is older than the log: a head of ${origin} with ${leaves} leaves (${hash}) was signed, and the store ${has}. ` +
      'Results are signed, and not logged until `vouchbox log reopen` opens the next tree',
  );
}

function ownKey({ log_key }: LogState): NoteKey {
  const parsed = parseNoteKey(log_key);
  if (parsed.kind === 'refused') throw new Error(`the store's key of the log is refused: ${parsed.reason}`);
  return parsed.key;
}

function checkpointOf({ checkpoint }: LogHead): Checkpoint {
  const parsed = parseCheckpoint(checkpoint);
  if (parsed.kind === 'refused') throw new Error(`the store's head of the log is refused: ${parsed.reason}`);
  return parsed.checkpoint;
}
