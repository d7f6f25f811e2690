/** Times, sizes and counts as people write them. */

/** The reader's languages, as set in the browser. Some browsers list the system's locale too: `en-US@posix`. */
const LANGUAGES = navigator.languages.filter(isLanguage);
// The formats are marked as pure, so that a page's build drops the formats that the page does not use.
const MOMENT = /* @__PURE__ */ new Intl.DateTimeFormat(LANGUAGES, { dateStyle: 'medium', timeStyle: 'long' });
const CLOCK = /* @__PURE__ */ new Intl.DateTimeFormat(LANGUAGES, { dateStyle: 'medium', timeStyle: 'medium' });
const TIME_OF_DAY = /* @__PURE__ */ new Intl.DateTimeFormat(LANGUAGES, { timeStyle: 'medium' });
const MINUTE = /* @__PURE__ */ new Intl.DateTimeFormat(LANGUAGES, { timeStyle: 'short' });
const DAY = /* @__PURE__ */ new Intl.DateTimeFormat(LANGUAGES, { day: 'numeric', month: 'short' });
const COUNT = new Intl.NumberFormat(LANGUAGES);
const KIB = 1024;

/** Whether a tag names a language: `Intl` throws for any other tag. */
function isLanguage(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}

/** Date, time of day and zone, for a text to keep or to print; `at` itself if `at` is no time, and `''` if it is no text. */
export function momentOf(at: unknown): string {
  return typeof at === 'string' ? formatted(MOMENT, at) : '';
}

/** Date and time of day in the reader's own time zone; `at` itself if it is not a time. */
export function clockOf(at: string): string {
  return formatted(CLOCK, at);
}

/** The time of day without the date, as in `clockOf`. */
export function timeOfDayOf(at: string | number): string {
  return formatted(TIME_OF_DAY, at);
}

/** The label of a mark on a time axis. The marks are `step` milliseconds apart. */
export function markOf(at: number, step: number): string {
  return formatted(step < 60_000 ? TIME_OF_DAY : step < 86_400_000 ? MINUTE : DAY, at);
}

/** RFC 3339 with an offset. `Date.parse` by itself finds a time in any text with a number, such as `run 5`. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

function formatted(format: Intl.DateTimeFormat, at: string | number): string {
  const time = typeof at === 'number' ? at : TIME.test(at) ? Date.parse(at) : Number.NaN;
  return Number.isNaN(time) ? String(at) : format.format(time);
}

export function countOf(count: number): string {
  return COUNT.format(count);
}

/** A count with its noun: `1 line`, `2,000 lines`. The noun's plural must end in s. */
export function amountOf(count: number, noun: string): string {
  return `${countOf(count)} ${count === 1 ? noun : `${noun}s`}`;
}

/** A duration given in milliseconds; a dash if it is unknown. */
export function durationOf(milliseconds: number | null | undefined): string {
  if (milliseconds === null || milliseconds === undefined) return '—';
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${(milliseconds / 1000).toFixed(seconds < 10 ? 2 : 1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min${seconds % 60 === 0 ? '' : ` ${seconds % 60} s`}`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

/** A size given in bytes; a dash if it is unknown. */
export function sizeOf(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return '—';
  if (bytes < KIB) return amountOf(bytes, 'byte');
  const kib = bytes / KIB;
  return kib < KIB ? `${inShort(kib)} KiB` : `${inShort(kib / KIB)} MiB`;
}

function inShort(amount: number): string {
  return amount.toFixed(Number.isInteger(amount) ? 0 : 1);
}
