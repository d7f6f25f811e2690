/** A time in the person's time zone, with the exact time in the title. */
import { clockOf, timeOfDayOf } from '@vouchbox/protocol/words';

interface MomentProps {
  readonly at: string | null | undefined;
  /** Whether to leave the date out, because the moment is recent. */
  readonly isTimeOfDay?: boolean;
}

export function Moment({ at, isTimeOfDay = false }: MomentProps) {
  if (at === null || at === undefined) return '—';
  return (
    <time dateTime={at} title={at}>
      {isTimeOfDay ? timeOfDayOf(at) : clockOf(at)}
    </time>
  );
}
