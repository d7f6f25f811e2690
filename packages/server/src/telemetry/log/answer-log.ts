/**
 * Writes one line for each answer, beside the log's other lines. The members of this line are known and contain no secret, so
 * this module writes the line directly. Writing the line through the logger would cost as much as the rest of a small answer.
 * Text that looks like a credential is still cut out.
 */
import { type DestinationStream, symbols } from 'pino';
import { isoTime } from './iso-time.ts';
import type { Log } from './log.ts';

/** An answer that has ended, because its last byte was sent or can no longer be sent. */
export interface AnswerLine {
  /** The id in `X-Request-Id`. None of its characters needs an escape in JSON. */
  readonly request_id: string;
  readonly method: string;
  /** The path as the contract spells it; null if no operation matches. Never the target, which may contain a ticket. */
  readonly route: string | null;
  /** The status; null if the client did not wait for the answer's end. */
  readonly status: number | null;
  readonly duration_ms: number;
  /** The tenant and the credential. Both are null if no caller was required or none was found. */
  readonly tenant: string | null;
  readonly credential_id: string | null;
}

/** Writes lines at the level `info`. */
export function answerLog(log: Log): (answer: AnswerLine) => void {
  const destination = (log as unknown as { readonly [symbols.streamSym]: DestinationStream })[symbols.streamSym];
  return (answer) => {
    if (log.isLevelEnabled('info')) destination.write(lineOf(answer));
  };
}

function lineOf({ request_id, method, route, status, duration_ms, tenant, credential_id }: AnswerLine): string {
  return (
    `{"level":"info","time":"${isoTime()}","request_id":"${request_id}","method":${JSON.stringify(method)},` +
    `"route":${JSON.stringify(route)},"status":${status},"duration_ms":${duration_ms},` +
    `"tenant":${JSON.stringify(tenant)},"credential_id":${JSON.stringify(credential_id)},"msg":"request answered"}\n`
  );
}
