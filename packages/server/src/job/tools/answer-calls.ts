/** The callers' side of a program's tool calls: they read the open calls and answer each of them once. */
import type { OpenToolCall, ToolAnswerTaken, ToolCalls } from '@vouchbox/protocol';
import { type JsonText, jsonText, Spelled } from '../../ground/json-text.ts';
import { ServiceError } from '../../ground/service-error.ts';
import type { OpenToolCalls, ToolAnswerResult } from '../../store/records/answers.ts';
import type { JobKey } from '../../store/records/rows.ts';
import type { Store } from '../../store/store.ts';
import { type History, readUntil, type Wait } from '../history.ts';
import type { Nudges } from '../nudges.ts';
import { jobNotFound, toolCallNotFound } from '../refusals.ts';
import type { SchemaChecks } from './schema-checks.ts';

export interface AnsweringOptions {
  readonly store: Pick<Store, 'openToolCalls' | 'fleet' | 'isUnderWay'>;
  readonly history: Pick<History, 'answerToolCall'>;
  readonly nudges: Pick<Nudges, 'next'>;
  readonly schemas: Pick<SchemaChecks, 'misfit'>;
  /** Aborts when the service stops. */
  readonly shutdown: AbortSignal;
}

/** The job that makes the calls, and the principal that asks for them. */
export interface Asker extends JobKey {
  readonly principal: string;
}

/** Which calls are requested, and how long to wait if there are none. */
export interface CallsAsked extends Wait {
  readonly after: number;
}

/** The text of a `ToolCalls`, and whether it has no calls although more may come. */
export interface ToolCallsAnswer {
  readonly isEmpty: boolean;
  readonly text: JsonText<ToolCalls>;
}

/** @throws ServiceError `job_not_found`, `principal_not_allowed` */
export async function openCalls(asker: Asker, asked: CallsAsked, options: AnsweringOptions): Promise<ToolCallsAnswer> {
  const { calls, last, hasEnded } = await firstOpen(asker, asked, options);
  const next_cursor = hasEnded ? null : (last ?? asked.after);
  const text = jsonText<ToolCalls>({ calls: new Spelled<OpenToolCall[]>(calls), next_cursor });
  return { isEmpty: last === null && !hasEnded, text };
}

type Found = Extract<OpenToolCalls, { kind: 'calls' }>;

async function firstOpen(asker: Asker, asked: CallsAsked, options: AnsweringOptions): Promise<Found> {
  return await readUntil(
    ({ last, hasEnded }) => last !== null || hasEnded,
    async () => {
      const found = await options.store.openToolCalls({ ...asker, after: asked.after });
      if (found.kind !== 'calls') throw refusalOf(found);
      return found;
    },
    { ...options, topic: `events ${asker.job_id}`, wait: asked, isOwn: () => options.store.isUnderWay(asker) },
  );
}

/** Whether the job may still make calls that the asker may answer. */
export async function isAnswerer(asker: Asker, { store }: Pick<AnsweringOptions, 'store'>): Promise<boolean> {
  const found = await store.openToolCalls({ ...asker, after: Number.MAX_SAFE_INTEGER });
  return found.kind === 'calls' && !found.hasEnded;
}

/**
 * Checks and stores an answer, and says where it is.
 *
 * @throws ServiceError `invalid_request`, `job_not_found`, `principal_not_allowed`, `tool_call_not_found`, `tool_result_misfit`,
 * `tool_call_answered`, `job_terminal`, `payload_too_large`
 */
export async function answerCall(
  asker: Asker,
  { seq, answer }: { readonly seq: number; readonly answer: unknown },
  { history, schemas }: Pick<AnsweringOptions, 'history' | 'schemas'>,
): Promise<ToolAnswerTaken> {
  const outcome = outcomeOf(answer);
  const take = (isChecked: boolean) =>
    history.answerToolCall({ ...asker, seq, outcome, isChecked, at: new Date().toISOString() });
  let taken = await take(false);
  if (taken.kind === 'unchecked' && 'result' in outcome) {
    const { schema } = taken;
    const misfit = await schemas.misfit(asker.tenant, { schema, value: JSON.stringify(outcome.result) });
    if (misfit !== null) throw new ServiceError('tool_result_misfit', `The result does not fit its schema: ${misfit}`);
    taken = await take(true);
  }
  if (taken.kind === 'unchecked') throw new Error('a checked result was neither taken nor refused');
  if (taken.kind !== 'taken' && taken.kind !== 'same') throw refusalOf(taken);
  return { call_seq: seq, seq: taken.answer_seq, replayed: taken.kind === 'same' };
}

/** The answer in a body that has not been checked yet. */
function outcomeOf(answer: unknown): { readonly result: unknown } | { readonly error: string } {
  const members = typeof answer === 'object' && answer !== null ? Object.keys(answer) : [];
  if (members.length === 1 && members[0] === 'result') return { result: (answer as { result: unknown }).result };
  if (members.length === 1 && members[0] === 'error') {
    const { error } = answer as { error: unknown };
    if (typeof error === 'string') return { error };
    throw new ServiceError('invalid_request', '/error must be a string');
  }
  throw new ServiceError('invalid_request', 'the body must have "result" or "error", and nothing else');
}

type Refused =
  | Exclude<ToolAnswerResult, { kind: 'taken' | 'same' | 'unchecked' }>
  | Exclude<OpenToolCalls, { kind: 'calls' }>;

function refusalOf(refused: Refused): ServiceError {
  switch (refused.kind) {
    case 'not_found':
      return jobNotFound();
    case 'not_allowed':
      return new ServiceError(
        'principal_not_allowed',
        'Only the principal that submitted the job, and those that its submission names, may answer its calls.',
      );
    case 'no_call':
      return toolCallNotFound();
    case 'ended':
      return new ServiceError('job_terminal', 'The job has ended: its program takes no more answers.');
    case 'conflict':
      return new ServiceError('tool_call_answered', 'The call has another answer already.');
    case 'too_large':
      return new ServiceError('payload_too_large', `An answer to this call may have ${refused.bytesMax} bytes.`);
  }
}
