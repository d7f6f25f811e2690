/** A time, as the person's clock shows it, with the exact time in the title. */
import { clockOf, timeOfDayOf } from '@vouchbox/protocol/words';

interface MomentProps {
  readonly at: string | null | undefined;
  /** Whether the date is left out, because the moment is recent. */
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
