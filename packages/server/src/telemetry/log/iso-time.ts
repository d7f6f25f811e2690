/** The time of day in the form that the log's lines have. */

let last = { second: Number.NaN, text: '' };

/** The present time, in RFC 3339 UTC with milliseconds. Within the same second, only the milliseconds are formatted again. */
export function isoTime(now = Date.now()): string {
  const second = Math.floor(now / 1000);
  if (second !== last.second) last = { second, text: new Date(second * 1000).toISOString().slice(0, -4) };
  return `${last.text}${String(now - second * 1000).padStart(3, '0')}Z`;
}
