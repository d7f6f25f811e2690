/** Parses the text of metrics as a scraper does. */

/**
 * The value of each series, keyed by its name and labels as spelled: `name{a="b"}`. Throws on a malformed line.
 */
export function seriesOf(text: string): ReadonlyMap<string, number> {
  const series = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [, name, value] = /^(\w+(?:\{.*\})?) (\S+)$/.exec(line) ?? [];
    if (name === undefined || Number.isNaN(Number(value?.replace('+Inf', 'Infinity')))) {
      throw new Error(`not a series: ${line}`);
    }
    if (series.has(name)) throw new Error(`twice: ${name}`);
    series.set(name, Number(value));
  }
  return series;
}
