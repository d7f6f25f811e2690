/** Reports a failure of the command: prints one line with advice on stderr, and chooses the exit code. */
import { isAway, ServiceFailure, TransportFailure } from '@vouchbox/client';
import { printable, printableText } from '@vouchbox/protocol/vocabulary';
import { CommanderError } from 'commander';
import { CommandFailure } from './command-failure.ts';
import { EXIT } from './exit-code.ts';

/** The longest message that is shown: far longer than any of our own messages. */
const lineCharactersMax = 4096;

/**
 * Reports a failure on stderr in as few lines as possible, and returns its exit code.
 * @param failed the exit code for a failure that is not wrong usage
 */
export function tellFailure(error: unknown, failed: number): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  process.stderr.write(`vouchbox: ${lineOf(error)}\n`);
  return isUsageError(error) ? EXIT.usage : failed;
}

function lineOf(error: unknown): string {
  const message = messageOf(error);
  if (message !== null) return printable(message, lineCharactersMax);
  return printableText(error instanceof Error ? (error.stack ?? error.message) : String(error));
}

/** A message that a person can act on; null for a bug. The message may come from an untrusted service. */
function messageOf(error: unknown): string | null {
  if (error instanceof ServiceFailure) return `${refusalLine(error)}${goingOn(error)}`;
  if (error instanceof TransportFailure) return `${transportLine(error)}${goingOn(error)}`;
  if (isOperatorError(error)) return error.hint === null ? error.message : `${error.message}; ${error.hint}`;
  if (isRefusedPort(error)) return `cannot ${error.message}; give a port that is free and that this user may take`;
  return isUsageError(error) || error instanceof CommandFailure ? error.message : null;
}

/** Names a grading that the service accepted. If the service was away, the client did not cancel the grading, so it goes on. */
function goingOn(error: ServiceFailure | TransportFailure): string {
  const { grading_id: id } = error;
  if (id === null) return '';
  if (!isAway(error)) return `; this was grading ${id}`;
  return `; grading ${id} goes on in the service unless it has ended: GET /v1/gradings/${id} shows it`;
}

/** Whether a port of `adapter` or of `mcp --http` was refused. `serve` has a message of its own. */
function isRefusedPort(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error && error.syscall === 'listen';
}

/** Advice for a caller about a refusal, used if the service's own message has none. */
const NEXT_STEPS: Readonly<Record<string, string>> = {
  unauthorized:
    '`vouchbox keys list`, on the host of the service, shows which keys are valid, but none of SERVICE_LEGACY_KEYS',
  insufficient_scope: '`vouchbox keys list`, on the host of the service, shows what the key may do',
  job_not_found: '`vouchbox jobs` lists the jobs',
  links_disabled: '`vouchbox export` writes the result as files that can be handed on',
  link_not_found: '`vouchbox links JOB` lists the links of a job',
  session_not_found: '`vouchbox sessions` lists the sessions',
  session_conflict:
    'run it again once no step runs, or with another name; `vouchbox sessions` shows the last step of each session, and `vouchbox sessions remove` lets a session begin anew',
};

function refusalLine({ message, code, requestId }: ServiceFailure): string {
  const next = NEXT_STEPS[code];
  return `${message} (${code}, request ${requestId ?? 'unknown'})${next === undefined ? '' : `; ${next}`}`;
}

/** The message about a request that got no usable answer, with the reason. */
export function transportLine(error: TransportFailure): string {
  return `${error.message}${causeOf(error)}`;
}

/** The codes by which OpenSSL reports that an answer is not TLS. */
const NOT_TLS = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG']);

/** The details of a failed fetch, such as a refused connection. */
function causeOf({ cause }: Error): string {
  if (!(cause instanceof Error)) return '';
  const known = cause.cause instanceof Error ? cause.cause : cause;
  if (codeOf(known) === 'ECONNREFUSED') {
    return `: ${known.message || 'connect ECONNREFUSED'}; is \`vouchbox serve\` running there?`;
  }
  if (NOT_TLS.has(String(codeOf(known)))) return ': nothing speaks TLS there; try http:// instead of https://';
  const isWithoutLoopback = codeOf(known) === 'ENETUNREACH' && known.message.includes(' 127.');
  return `: ${known.message}${isWithoutLoopback ? '; `ip link set lo up`, as root, starts the loopback' : ''}`;
}

function codeOf(error: Error): unknown {
  return 'code' in error ? error.code : undefined;
}

/** Recognises the error by its name: the verifier has its own class for it, and most commands do not load that class. */
function isUsageError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'UsageError';
}

const OPERATOR_ERRORS = new Set(['StartError', 'PackError', 'OperatorError', 'SigningKeyError']);

/** An error that an operator can correct, recognised by name: its class comes with the server, which few commands load. */
export function isOperatorError(error: unknown): error is Error & { readonly hint: string | null } {
  return error instanceof Error && OPERATOR_ERRORS.has(error.name) && 'hint' in error;
}
