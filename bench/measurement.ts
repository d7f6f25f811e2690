/** One figure beside its baseline, and how it is printed. */

export interface Measurement {
  /** What was measured, in a few words. */
  readonly what: string;
  readonly value: number;
  readonly unit: 'ms' | 'µs' | '/s' | 'MiB' | 'cases';
  /** The same work without the service, in the same run. */
  readonly baseline: { readonly what: string; readonly value: number };
}

/** The figure, its baseline, and the one divided by the other. */
export function rowOf({ what, value, unit, baseline }: Measurement): string {
  const ratio = (value / baseline.value).toFixed(2);
  return `  ${what.padEnd(44)}${figure(value, unit)}  ${baseline.what.padEnd(28)}${figure(baseline.value, unit)}  × ${ratio}`;
}

function figure(value: number, unit: string): string {
  return `${value.toFixed(1).padStart(9)} ${unit.padEnd(3)}`;
}

/** The middle of some figures. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
