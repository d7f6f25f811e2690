/** The two formats for metrics, and the choice of the format that a scraper prefers. */
import { OPENMETRICS_MEDIA_TYPE, PROMETHEUS_MEDIA_TYPE } from '@vouchbox/protocol';
import Negotiator from 'negotiator';

/** The older text format, and OpenMetrics. */
export const METRICS_FORMATS = ['text', 'openmetrics'] as const;
export type MetricsFormat = (typeof METRICS_FORMATS)[number];

/** The media type of each format. */
export const METRICS_MEDIA_TYPES = {
  text: PROMETHEUS_MEDIA_TYPE,
  openmetrics: OPENMETRICS_MEDIA_TYPE,
} as const satisfies Readonly<Record<MetricsFormat, string>>;

/**
 * The format for an `Accept` header, RFC 9110 § 12.5.1. The default is the older text format, also for an unknown type.
 *
 */
export function preferredFormat(accept: string | undefined): MetricsFormat {
  // The negotiator must not see versions and character sets, because it would look for them among the offered types.
  const plain = accept?.replace(/;\s*q\s*=\s*/gi, ';q=').replace(/;(?!q=)[^,;]*/g, '');
  const headers = plain === undefined ? {} : { accept: plain };
  const preferred = new Negotiator({ headers }).mediaType(['text/plain', 'application/openmetrics-text']);
  return preferred === 'application/openmetrics-text' ? 'openmetrics' : 'text';
}

/**
 * Turns metrics from the older text format into OpenMetrics 1.0: the names of counter families have no suffix, there
 * are no empty lines, and a mark ends the text. https://prometheus.io/docs/specs/om/open_metrics_spec/
 */
export function openMetricsOf(text: string): string {
  const families = text.replace(/^# (HELP|TYPE) (\w+)_total /gm, '# $1 $2 ').replaceAll(/\n+/g, '\n');
  return `${families}# EOF\n`;
}
