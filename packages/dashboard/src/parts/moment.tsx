/** A time, as the person's clock shows it. The exact one is in its title. */
import { clockOf } from '../words/amounts.ts';

export function Moment({ at }: { readonly at: string | null | undefined }) {
  if (at === null || at === undefined) return '—';
  return (
    <time dateTime={at} title={at}>
      {clockOf(at)}
    </time>
  );
}
