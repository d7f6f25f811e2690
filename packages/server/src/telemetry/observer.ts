/**
 * What the service reports to the operator's instruments while it works. Metrics and traces implement this interface, and the
 * other folders know nothing else about them. If the operator asked for neither, an observer that does nothing is used.
 */
import type { Language, TerminalReason, TerminalStatus } from '@vouchbox/protocol';

/** A request when it begins. */
export interface BegunRequest {
  /** The id in `X-Request-Id`. */
  readonly id: string;
  readonly method: string;
  /**
   * The path as the contract spells it; null if no operation matches. The target, which may contain a secret, is never reported.
   */
  readonly route: string | null;
  /** The W3C trace context that the client sent. */
  readonly traceparent: string | undefined;
}

/** A request whose answer has ended, because its last byte was sent or can no longer be sent. */
export interface AnsweredRequest extends Omit<BegunRequest, 'traceparent'> {
  /** The status; null if the connection ended before the answer did. */
  readonly status: number | null;
  readonly seconds: number;
}

export interface AdmittedJob {
  readonly job_id: string;
  readonly language: Language;
}

/** A cell that was requested, and whether it became ready. */
export interface CellPreparation {
  readonly language: Language;
  readonly seconds: number;
  readonly isReady: boolean;
}

/** A job that ended, as stored. Times are RFC 3339 UTC. */
export interface EndedJob extends AdmittedJob {
  readonly tenant: string;
  readonly status: TerminalStatus;
  readonly terminal_reason: TerminalReason | null;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly finished_at: string;
  readonly duration_ms: number | null;
}

/** Observes the service. No method may throw, block or keep its arguments. */
export interface Observer {
  /** Reports a request. The method must call `proceed` once, synchronously. The request is handled inside that call. */
  requestBegan(request: BegunRequest, proceed: () => void): void;
  requestAnswered(request: AnsweredRequest): void;
  /** Reports a request that the listener refused before the request was parsed. `status` is the answer's status. */
  headRefused(status: number): void;
  /** Reports a connection that was refused or closed for lack of room. */
  connectionRefused(): void;
  /** Reports an accepted job, while the request that submitted it is handled. */
  jobAdmitted(job: AdmittedJob): void;
  cellPrepared(cell: CellPreparation): void;
  /** Reports how long it took until a change to a job was on disk. */
  changeCommitted(seconds: number): void;
  jobEnded(job: EndedJob): void;
}

/** An observer that does nothing. */
export const NO_OBSERVER: Observer = {
  requestBegan: (_request, proceed) => proceed(),
  requestAnswered() {},
  headRefused() {},
  connectionRefused() {},
  jobAdmitted() {},
  cellPrepared() {},
  changeCommitted() {},
  jobEnded() {},
};

/** An observer that reports to two observers, one after the other. */
export function bothOf(one: Observer, other: Observer): Observer {
  return {
    requestBegan: (request, proceed) => one.requestBegan(request, () => other.requestBegan(request, proceed)),
    requestAnswered(request) {
      one.requestAnswered(request);
      other.requestAnswered(request);
    },
    headRefused(status) {
      one.headRefused(status);
      other.headRefused(status);
    },
    connectionRefused() {
      one.connectionRefused();
      other.connectionRefused();
    },
    jobAdmitted(job) {
      one.jobAdmitted(job);
      other.jobAdmitted(job);
    },
    cellPrepared(cell) {
      one.cellPrepared(cell);
      other.cellPrepared(cell);
    },
    changeCommitted(seconds) {
      one.changeCommitted(seconds);
      other.changeCommitted(seconds);
    },
    jobEnded(job) {
      one.jobEnded(job);
      other.jobEnded(job);
    },
  };
}
