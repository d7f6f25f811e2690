/** Joins the stages of a job into the one interface that HTTP knows. */
import type { CancellationAnswer, JobDetail } from '@vouchbox/protocol';
import type { Caller } from '../ground/caller.ts';
import { type JsonText, withMembers } from '../ground/json-text.ts';
import type { JobKey } from '../store/records/rows.ts';
import type { Store } from '../store/store.ts';
import type { Log } from '../telemetry/log/log.ts';
import { type AdmitOptions, admit } from './admit/admit.ts';
import { answered } from './answered.ts';
import { canaryOfJob } from './canary/canary-of-job.ts';
import { cancel } from './dispatch/cancel.ts';
import type { Dispatcher } from './dispatch/dispatcher.ts';
import type { History } from './history.ts';
import type { Jobs } from './jobs.ts';
import { logProofOfJob } from './log/read-log.ts';
import { pendingStatements, promiseBytes } from './log/read-promise.ts';
import type { Nudges } from './nudges.ts';
import type { ObjectContents } from './object-contents.ts';
import { jobNotFound } from './refusals.ts';
import { type AnsweringOptions, type Asker, answerCall, isAnswerer, openCalls } from './tools/answer-calls.ts';
import { type AttestationOptions, attestationBytes } from './view/attestation.ts';
import type { EndReader } from './view/end-parts.ts';
import { list } from './view/list.ts';
import { replay } from './view/replay.ts';
import { result } from './view/result.ts';

export interface JobsOptions extends Omit<AdmitOptions, 'store' | 'dispatcher' | 'objects'> {
  readonly store: Store;
  readonly history: History;
  readonly dispatcher: Pick<Dispatcher, 'admit' | 'stop'>;
  readonly keys: AttestationOptions['keys'];
  readonly isSigning: boolean;
  readonly schemas: AnsweringOptions['schemas'];
  readonly nudges: Nudges;
  /** Contents that are kept in an object store. */
  readonly objects: ObjectContents;
  readonly log: Log;
}

/** The jobs in this process's store, run by its dispatcher. Failures of the store become refusals. */
export function createJobs(options: JobsOptions): Jobs {
  const { store, history, shutdown } = options;
  const detail = (key: JobKey) => found(store.jobDetail(key));
  const cancelJob = async (key: JobKey, principal: string): Promise<JsonText<CancellationAnswer>> => {
    const { already_terminal } = await cancel({ ...key, principal }, options);
    return withMembers<CancellationAnswer, JobDetail>(await detail(key), { already_terminal });
  };
  const endOf = (key: JobKey): EndReader => ({
    result: () => result(key, { waitSeconds: 0, signal: shutdown }, options),
    receipt: () => store.receiptOf(key),
  });
  return {
    submit: (caller, submission) => answered(admit(caller, submission, options)),
    list: (caller, query) => answered(list(caller.tenant, query, { store })),
    detail: (caller, job_id) => answered(detail(keyOf(caller, job_id))),
    receipt: (caller, job_id) => answered(store.receiptOf(keyOf(caller, job_id))),
    cancel: (caller, job_id) => answered(cancelJob(keyOf(caller, job_id), caller.principal)),
    linked: (caller, job_id, link) => answered(found(store.linkedJob({ ...keyOf(caller, job_id), ...link }))),
    showsBlob: (caller, job_id, asked) => answered(store.linkShowsBlob({ ...keyOf(caller, job_id), ...asked })),
    result: (caller, job_id, wait) => answered(result(keyOf(caller, job_id), wait, options)),
    replay(caller, job_id, page) {
      const key = keyOf(caller, job_id);
      return answered(replay(key, page, { ...options, ended: endOf(key) }));
    },
    attestation: (caller, job_id, part) => answered(attestationBytes(keyOf(caller, job_id), part, options)),
    canary: (caller, job_id) => answered(canaryOfJob(keyOf(caller, job_id), options)),
    logProof: (caller, job_id) => answered(logProofOfJob(keyOf(caller, job_id), options)),
    promise: (caller, job_id, wait) => answered(promiseBytes(keyOf(caller, job_id), wait, options)),
    pending: (caller, job_id) => answered(pendingStatements(keyOf(caller, job_id), options)),
    toolCalls: (caller, job_id, asked) => answered(openCalls(askerOf(caller, job_id), asked, options)),
    answerToolCall: (caller, job_id, answer) => answered(answerCall(askerOf(caller, job_id), answer, options)),
    answersTools: (caller, job_id) => answered(isAnswerer(askerOf(caller, job_id), options)),
    tail: (caller, job_id, { after, signal }) =>
      history.tail(keyOf(caller, job_id), { after, signal: AbortSignal.any([signal, shutdown]) }),
  };
}

function askerOf(caller: Caller, job_id: string): Asker {
  return { ...keyOf(caller, job_id), principal: caller.principal };
}

function keyOf(caller: Caller, job_id: string): JobKey {
  return { tenant: caller.tenant, job_id };
}

async function found<Answer>(asked: Promise<Answer | null>): Promise<Answer> {
  const answer = await asked;
  if (answer === null) throw jobNotFound();
  return answer;
}
