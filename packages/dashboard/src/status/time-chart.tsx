/** Numbers over time, drawn by uPlot. What a chart shows last is also said in words, for people who cannot see it. */
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import { useMedia } from '../parts/use-media.ts';
import { timeOfDayOf } from '../words/amounts.ts';
import 'uplot/dist/uPlot.min.css';

export interface ChartSeries {
  readonly name: string;
  /** A colour of the palette in `tools/pages/tokens.css`. */
  readonly tone: 'good' | 'warn' | 'busy' | 'accent';
  readonly values: readonly number[];
  /** Whether each number stands alone. */
  readonly isPoints?: boolean;
}

interface TimeChartProps {
  readonly label: string;
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
}

/** Pixels. */
const chartHeight = 180;
const axisWidth = 46;
const timeWidth = 90;
const pointSize = 5;

export function TimeChart({ label, times, series }: TimeChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(null);
  const isDark = useMedia('(prefers-color-scheme: dark)');
  const latest = useRef({ times, series });
  latest.current = { times, series };
  useEffect(() => {
    if (host.current === null) return;
    const element = host.current;
    const made = new uPlot(optionsOf(element, latest.current.series, isDark), dataOf(latest.current), element);
    chart.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: chartHeight }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      chart.current = null;
    };
  }, [isDark]);
  useEffect(() => chart.current?.setData(dataOf({ times, series })), [times, series]);
  const words = series.map(({ name, values }) => `${name} ${values.at(-1) ?? 'unknown'}`).join(', ');
  return (
    <figure>
      <div ref={host} className="chart" role="img" aria-label={`${label}. Latest: ${words}.`} />
      <figcaption className="chart-legend small">
        {series.map(({ name, tone, values }) => (
          <span key={name} className="chart-name" data-tone={tone}>
            {name} <strong>{values.at(-1) ?? '—'}</strong>
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function dataOf({ times, series }: Pick<TimeChartProps, 'times' | 'series'>): uPlot.AlignedData {
  return [[...times], ...series.map(({ values }) => [...values])];
}

/** A canvas takes no style sheet: it gets the colours that hold now. */
function optionsOf(element: HTMLElement, series: readonly ChartSeries[], isDark: boolean): uPlot.Options {
  const ink = colourOf(element, '--ink-soft');
  const grid = { stroke: colourOf(element, '--line'), width: 1 };
  const axis = { stroke: ink, grid, ticks: grid, font: '12px system-ui, sans-serif' };
  return {
    width: element.clientWidth,
    height: chartHeight,
    class: isDark ? 'is-dark' : 'is-light',
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_chart, _low, high) => [0, Math.max(1, high * 1.1)] } },
    axes: [
      { ...axis, space: timeWidth, values: (_chart, times) => times.map((time) => timeOfDayOf(time * 1000)) },
      { ...axis, size: axisWidth },
    ],
    series: [{}, ...series.map((one) => seriesOf(element, one))],
  };
}

function seriesOf(element: HTMLElement, { name, tone, isPoints = false }: ChartSeries): uPlot.Series {
  const stroke = colourOf(element, `--${tone}`);
  const points = { show: isPoints, size: pointSize, fill: stroke, stroke };
  return { label: name, stroke, width: 2, points, ...(isPoints && { paths: () => null }) };
}

/** A colour of the palette as the browser computes it: names of properties mean nothing to a canvas. */
function colourOf(element: HTMLElement, name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
