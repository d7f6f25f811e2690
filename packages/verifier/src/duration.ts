/** Durations in the form that the command line takes. */
import { UsageError } from './usage-error.ts';

const UNIT_MILLISECONDS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The milliseconds in a duration such as `90s`, `15m`, `12h` or `7d`. */
export function parseDuration(text: string): number {
  const { number, unit } = /^(?<number>\d{1,9})(?<unit>[smhd])$/.exec(text)?.groups ?? {};
  if (number === undefined || unit === undefined) {
    throw new UsageError(`malformed duration ${text}; it must be a number and s, m, h or d, such as 12h`);
  }
  return Number(number) * (UNIT_MILLISECONDS[unit] as number);
}
