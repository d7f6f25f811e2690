/** A chart of numbers over time, with axes. The latest values are also given in words, for people who cannot see the chart. */
import { countOf, markOf } from '@vouchbox/protocol/words';
import { useEffect, useRef, useState } from 'react';

export interface ChartSeries {
  readonly name: string;
  /** A colour of the palette in `tools/pages/tokens.css`. */
  readonly tone: 'good' | 'bad' | 'warn' | 'busy' | 'accent';
  /** The values over time; null for an unknown value. */
  readonly values: readonly (number | null)[];
  /** Whether each value is drawn as a separate point. */
  readonly isPoints?: boolean;
}

interface TimeChartProps {
  readonly label: string;
  /** The times of the values in milliseconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
  readonly words?: (value: number) => string;
}

/** Sizes of the chart in pixels. */
const height = 180;
const before = 74;
const after = 36;
const above = 10;
const below = 22;
const timeWidth = 90;

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
/** The possible distances between two marks on the axis, in milliseconds. */
const STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * second),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minute),
  ...[1, 2, 3, 6, 12, 24, 48, 168, 720].map((count) => count * hour),
];

export function TimeChart({ label, times, series, words = countOf }: TimeChartProps) {
  const [host, width] = useWidth();
  const latest = ({ values }: ChartSeries) => {
    const last = values.findLast((value) => value !== null) ?? null;
    return last === null ? '—' : words(last);
  };
  const { first, last, levels, across, up } = scalesOf(times, series, width);
  return (
    <figure>
      <div ref={host} className="chart">
        <svg
          role="img"
          aria-label={`${label}. Latest: ${series.map((one) => `${one.name} ${latest(one)}`).join(', ')}.`}
          width={width}
          height={height}
        >
          {levels.map((level) => (
            <g key={level}>
              <line className="chart-grid" x1={before} x2={width - after} y1={up(level)} y2={up(level)} />
              <text className="chart-mark" x={before - 8} y={up(level)} dominantBaseline="middle" textAnchor="end">
                {words(level)}
              </text>
            </g>
          ))}
          {marksOf(first, last, width).map(({ at, text }) => (
            <g key={at}>
              <line className="chart-grid" x1={across(at)} x2={across(at)} y1={above} y2={height - below} />
              <text className="chart-mark" x={across(at)} y={height - 4} textAnchor="middle">
                {text}
              </text>
            </g>
          ))}
          {series.map((one) => (
            <g key={one.name} className="chart-series" data-tone={one.tone}>
              {!one.isPoints && <path d={lineOf(one.values, times.map(across), up)} />}
              {one.values.map((value, index) =>
                value !== null && (one.isPoints || isAlone(one.values, index)) ? (
                  <circle key={times[index]} cx={across(times[index] ?? first)} cy={up(value)} r={2.5} />
                ) : null,
              )}
            </g>
          ))}
        </svg>
      </div>
      <figcaption className="chart-legend small">
        {series.map((one) => (
          <span key={one.name} className="chart-name" data-tone={one.tone}>
            {one.name} <strong>{latest(one)}</strong>
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function useWidth() {
  const host = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(480);
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(Math.max(2 * (before + after), element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [host, width] as const;
}

function scalesOf(times: readonly number[], series: readonly ChartSeries[], width: number) {
  const first = times[0] ?? Date.now();
  const last = Math.max(times.at(-1) ?? first, first + minute);
  const levels = levelsOf(Math.max(1, ...series.flatMap(({ values }) => values.map((value) => value ?? 0))));
  const top = levels.at(-1) ?? 1;
  return {
    first,
    last,
    levels,
    across: (at: number) => before + ((at - first) / (last - first)) * (width - before - after),
    up: (value: number) => height - below - (value / top) * (height - above - below),
  };
}

/** Round numbers from 0 up to the first one that is at least the highest value. */
function levelsOf(highest: number): readonly number[] {
  const unit = 10 ** Math.floor(Math.log10(highest / 4));
  const step = Math.max(1, [1, 2, 5, 10].map((factor) => factor * unit).find((size) => size * 4 >= highest) ?? highest);
  return Array.from({ length: Math.ceil(highest / step) + 1 }, (_, index) => index * step);
}

/** The marks at round times in the reader's time zone. */
function marksOf(first: number, last: number, width: number) {
  const step =
    STEPS.find((size) => ((last - first) / size) * timeWidth <= width - before - after) ?? 2 * (last - first);
  const zone = new Date(first).getTimezoneOffset() * minute;
  const start = Math.ceil((first - zone) / step) * step + zone;
  const count = Math.max(0, Math.floor((last - start) / step) + 1);
  return Array.from({ length: count }, (_, index) => start + index * step).map((at) => ({
    at,
    text: markOf(at, step),
  }));
}

function isAlone(values: readonly (number | null)[], index: number): boolean {
  return [values[index - 1], values[index + 1]].every((value) => value === null || value === undefined);
}

/** The path of a line, with gaps where values are unknown. */
function lineOf(values: readonly (number | null)[], across: readonly number[], up: (value: number) => number): string {
  return values
    .map((value, index) => {
      if (value === null) return '';
      const isFirst = (values[index - 1] ?? null) === null;
      return `${isFirst ? 'M' : 'L'}${across[index]?.toFixed(1)} ${up(value).toFixed(1)}`;
    })
    .join('');
}
