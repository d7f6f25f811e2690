/**
 * Whether a statement reached the log soon after its job ended. The log signs no times, but a witness says when it saw a head. A
 * statement that this head's tree lacks came later, whatever time the statement gives. Uses nothing that only Node has.
 */
import { type Checkpoint, cosignedAt, type NoteKey, type SignedStatement, type Witnessed } from '@vouchbox/evidence';
import { type Check, checked, failed } from './report.ts';
import { statedEnd } from './signed-statement.ts';

/** A head that was seen before. */
export interface EarlierHead {
  readonly head: Checkpoint;
  /** Whether the reader gave this head for the comparison of times. If so, a witness must have signed it. */
  readonly isDemanded: boolean;
}

/** How long after its end a job may reach the log: clocks differ, and a signer may be down for a while. */
export const logDelayDefault = 10 * 60_000;

/** A time in seconds as text. A witness may state any number. A number that is no date is shown as a number. */
export function timeText(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? `second ${seconds}` : date.toISOString().replace('.000Z', 'Z');
}

/** Compares the time at which the job ended with the last time at which a witness saw the log without the job's statement. */
export async function timeChecks(
  { statement, index }: { readonly statement: SignedStatement; readonly index: number },
  earlier: readonly EarlierHead[],
  { witnesses, delay }: { readonly witnesses: readonly NoteKey[]; readonly delay: number },
): Promise<readonly Check[]> {
  const seen: Witnessed[] = [];
  for (const { head, isDemanded } of earlier.filter(({ head: { size } }) => size <= index)) {
    const times = await witnessTimes(head, witnesses);
    if (typeof times === 'string') return [failed('log_time', times)];
    if (isDemanded && times.length === 0)
      return [failed('log_time', `no pinned witness says when it saw the head of ${head.size} statements`)];
    seen.push(...times);
  }
  const [first, ...others] = seen;
  if (first === undefined) return [];
  const { name, time } = others.reduce((last, each) => (each.time > last.time ? each : last), first);
  const end = statedEnd(statement);
  if (end === null) return [failed('log_time', 'the statement does not say when its job ended')];
  const found = `its job ended at ${new Date(end).toISOString()}, and ${name} saw the log without it at ${timeText(time)}`;
  return [checked('log_time', time * 1000 - end > delay ? `BACKDATED OR LATE: it says that ${found}` : null, found)];
}

/** When each pinned witness says that it saw a head, or which witness did not sign as it should have. */
export async function witnessTimes({ note }: Checkpoint, witnesses: readonly NoteKey[]): Promise<Witnessed[] | string> {
  const times: Witnessed[] = [];
  for (const witness of witnesses) {
    const time = await cosignedAt(note, witness);
    if (time === 'wrong') return `${witness.name} did not sign the head as it must`;
    if (time !== 'unsigned') times.push({ name: witness.name, time });
  }
  return times;
}
