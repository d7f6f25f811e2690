/** Reads metrics. It knows only the part of Prometheus's text format that the service writes. */

export interface Series {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

const LINE = /^([a-z_]\w*)(?:\{(.*)\})? (\S+)$/i;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** Every series in a text. Lines of other kinds are skipped. */
export function parseMetrics(text: string): readonly Series[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = LINE.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = Array.from(labels.matchAll(LABEL), ([, key = '', text_ = '']) => [key, text_] as const);
    return [{ name, labels: new Map(pairs), value: Number(value) }];
  });
}

/** The sums of the series, grouped by the values of one label. */
export function sumBy(series: readonly Series[], label: string): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { labels, value } of series) {
    const key = labels.get(label) ?? '';
    sums.set(key, (sums.get(key) ?? 0) + value);
  }
  return sums;
}
