/**
 * The structured log, with one JSON object on each line. Keys, tickets, code and stdin never reach the log. Known members are cut
 * out by name, and text that looks like a credential is cut out of every finished line, even inside a message.
 */
import { type DestinationStream, type Logger, pino } from 'pino';
import { isoTime } from './iso-time.ts';
import { type LineBatch, lineBatch } from './line-batch.ts';
import { standardError } from './standard-error.ts';

export type Log = Logger;
export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

const CENSORED = '[redacted]';

/** Members that are cut out of a log line, both at the top and one level down. */
const SECRET_MEMBERS = [
  'authorization',
  'key',
  'token',
  'ticket',
  'secret',
  'stdin',
  'body',
  'requested_spec',
  'legacyKeys',
  'metricsToken',
];

/** Text that has the form of a credential, in any member and any message. */
const CREDENTIALS: readonly [pattern: RegExp, replacement: string][] = [
  [/\b(Bearer|Basic)\s+[^\s"\\,]+/gi, `$1 ${CENSORED}`],
  [/\b(ticket|token|access_token)=[^\s"\\&]+/gi, `$1=${CENSORED}`],
  [/\bsvc_[A-Za-z0-9]+_[A-Za-z0-9_-]{8,}/g, CENSORED],
  [/\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+/g, CENSORED],
];

/** A log to standard error, or to `destination`. Standard output stays free for the output of commands. */
export function createLog(level: LogLevel, destination?: DestinationStream): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${isoTime()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: pino.stdSerializers.err },
      redact: {
        paths: [...SECRET_MEMBERS, ...SECRET_MEMBERS.map((name) => `*.${name}`), 'code', 'headers', '*.headers'],
        censor: CENSORED,
      },
    },
    destination === undefined ? processLog() : cleaned(destination),
  );
}

/** Writes a line whatever level the operator chose, except `silent`, which means no log at all. */
export function logAtAnyLevel(log: Log, members: object, message: string): void {
  if (log.level !== 'silent') log.child({}, { level: 'info' }).info(members, message);
}

let ofProcess: LineBatch | null = null;

/** The one log of this process on standard error. */
function processLog(): LineBatch {
  if (ofProcess !== null) return ofProcess;
  const batch = lineBatch(cleaned(standardError()));
  process.on('exit', () => batch.flushSync());
  ofProcess = batch;
  return batch;
}

/** Cuts text that looks like a credential out of one or more lines. No pattern matches across the end of a line. */
function cleaned(destination: DestinationStream): DestinationStream {
  return { write: (lines) => destination.write(withoutCredentials(lines)) };
}

function withoutCredentials(lines: string): string {
  let clean = lines;
  for (const [pattern, replacement] of CREDENTIALS) clean = clean.replace(pattern, replacement);
  return clean;
}
