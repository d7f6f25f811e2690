/** One figure with its baseline, and how both are printed. */

export interface Measurement {
  /** What is measured, in a few words. */
  readonly what: string;
  readonly value: number;
  /** Empty if the value counts the things that `what` names. */
  readonly unit: 'ms' | 'µs' | '/s' | 'KiB' | 'MiB' | 'MiB/s' | 'cases' | 'left' | '' | '%';
  /** The same work without the service, in the same run. */
  readonly baseline: { readonly what: string; readonly value: number };
  /** The lowest and the highest figure of the rounds. */
  readonly spread?: readonly [number, number];
  /** The target for the figure divided by its baseline. */
  readonly target?: { readonly ratio: number; readonly is: 'at most' | 'at least' };
  /** The largest figure that meets the target. */
  readonly valueMax?: number;
  /** A remark that is printed on the line above the figure. */
  readonly note?: string;
}

/** The figure, its baseline, their ratio, and the target. */
export function rowOf(measurement: Measurement): string {
  const { what, value, unit, baseline, spread, note } = measurement;
  const ratio = baseline.value > 0 ? `× ${(value / baseline.value).toFixed(2)}` : '';
  const row = `  ${what.padEnd(44)}${figure(value, unit)}${range(spread)}  ${baseline.what.padEnd(28)}${figure(baseline.value, unit)}  ${ratio}${wanted(measurement)}`;
  return note === undefined ? row : `  ${note}\n${row}`;
}

function wanted({ target, valueMax, value, unit }: Measurement): string {
  if (target !== undefined) return `  (${target.is} ${target.ratio})`;
  return valueMax === undefined
    ? ''
    : `  (at most ${withUnit(`${valueMax}`, unit)}: ${value <= valueMax ? 'held' : 'NOT HELD'})`;
}

/** The lowest and the highest figure, if they are known. */
function range(spread: Measurement['spread']): string {
  return (spread === undefined ? '' : `[${format(spread[0])}–${format(spread[1])}]`).padEnd(17);
}

/** `2.0 ms`, or `2.0` for a count. */
export function withUnit(figure: string, unit: Measurement['unit']): string {
  return `${figure} ${unit}`.trimEnd();
}

/** A figure with its significant digits. */
export function format(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(1);
}

function figure(value: number, unit: string): string {
  return `${value.toFixed(1).padStart(9)} ${unit.padEnd(3)}`;
}

/** The median of some figures. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** A quantile of some figures: the given `part` of the figures, from 0 to 1, lies below it. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)] ?? Number.NaN;
}
