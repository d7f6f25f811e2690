/**
 * Checks the form of a service's answer: each member that the contract names must be there and have its type. Any other member is
 * passed on, but nothing may rely on it.
 *
 * Forms are short, because every page with a client loads all of them. In a text, each letter is an allowed type: `s` text, `n` a
 * number, `i` an integer that a double holds, `b` true or false, `z` null, `j` the id of a job. An empty text allows every value.
 * `[form]` is a list, and `[form, null]` is a form or null. An object has a form for each of its members: `name?` may be missing,
 * and `*` stands for every member.
 */
import { ANSWER_FORMS, EVENT_FORMS, type Form } from './answer-forms.ts';
import type { Capabilities, JobDetail, JobEvent, SubmissionAnswer } from './contract-types.ts';
import { TransportFailure } from './failure.ts';
import type { ServiceFacts } from './session.ts';

/** An id becomes a part of addresses and file names, so no character in it may have a special meaning there. */
const JOB_ID = /^[\w-]{1,128}$/;

const LETTERS: Readonly<Record<string, (value: unknown) => boolean>> = {
  s: (value) => typeof value === 'string',
  n: (value) => Number.isFinite(value),
  i: (value) => Number.isSafeInteger(value),
  b: (value) => typeof value === 'boolean',
  z: (value) => value === null,
  j: (value) => typeof value === 'string' && JOB_ID.test(value),
};

/**
 * A route's answer. It must have the route's form and be about the job that the request named.
 * @param job_id the job that the request named; undefined if it named none
 * @throws TransportFailure `undecodable`, naming the member that is wrong
 */
export function checkAnswer<Answer>(route: string, answer: unknown, job_id?: string): Answer {
  const form = ANSWER_FORMS[route] ?? refuse(`the contract has no form for an answer to ${route}`);
  const wrong = wrongIn(answer, form) ?? wrongEvent(answer);
  if (wrong !== null) refuse(`the answer to ${route} does not fit the contract: ${wrong}`);
  if (job_id !== undefined) checkAbout(answer as { job_id?: string }, job_id);
  return answer as Answer;
}

/**
 * The answer to a submission. Each of its parts must be about the submitted job.
 * @throws TransportFailure `undecodable`
 */
export function checkSubmission(answer: unknown): SubmissionAnswer {
  const stored = checkAnswer<SubmissionAnswer>('POST /v1/jobs', answer);
  for (const part of [stored.result, stored.receipt, stored.detail]) checkAbout(part ?? {}, stored.job_id);
  if (stored.history !== undefined) checkAnswer(REPLAY, stored.history);
  return stored;
}

/** @throws TransportFailure `undecodable` if the answer names another job than this one */
function checkAbout({ job_id: about = '' }: { readonly job_id?: string }, job_id: string): void {
  if (about !== '' && about !== job_id) refuse(`the service answers about another job than ${job_id}`);
}

/**
 * The detail from a server older than v0.4. It has fewer members.
 * @throws TransportFailure `undecodable`
 */
export function checkOlderDetail(detail: unknown, job_id: string): JobDetail {
  const wrong = wrongIn(detail, { job_id: 'j', status: 's', 'exit_code?': 'iz', 'duration_ms?': 'iz' });
  if (wrong !== null) refuse(`the detail of ${job_id} does not fit the contract: ${wrong}`);
  checkAbout(detail as JobDetail, job_id);
  return detail as JobDetail;
}

/**
 * The capabilities that calls depend on. An older server names no features and no bounds.
 * @throws TransportFailure `undecodable`
 */
export function factsIn(capabilities: unknown): ServiceFacts {
  const wrong = wrongIn(capabilities, { 'features?': ['s'], 'per_tenant?': { waits_max: 'i' } });
  if (wrong !== null) refuse(`the capabilities do not fit the contract: ${wrong}`);
  const { features = [], per_tenant } = capabilities as Partial<Capabilities>;
  // If the service lets no request wait, the client runs one program at a time.
  return { features, runsMax: per_tenant === undefined ? null : Math.max(1, per_tenant.waits_max) };
}

/** @throws TransportFailure `undecodable` */
export function checkEvent(event: unknown): JobEvent {
  const wrong =
    wrongIn({ events: [event], next_cursor: null }, ANSWER_FORMS[REPLAY] ?? '') ?? wrongEvent({ events: [event] });
  if (wrong !== null) refuse('a frame of the stream is not an event');
  return event as JobEvent;
}

const REPLAY = 'GET /v1/jobs/{id}/replay';

function wrongEvent(answer: unknown): string | null {
  const { events } = answer as { events?: readonly JobEvent[] };
  if (!Array.isArray(events)) return null;
  return first(events, ({ kind, data, seq }: JobEvent) => wrongIn(data, EVENT_FORMS[kind] ?? '', `event ${seq}`));
}

/** The name of the first wrong member; null if no member is wrong. */
export function wrongIn(value: unknown, form: Form, name = 'the whole'): string | null {
  if (typeof form === 'string')
    return form === '' || Array.from(form).some((letter) => LETTERS[letter]?.(value)) ? null : name;
  if (isList(form)) {
    if (form.length === 2 && value === null) return null;
    if (form.length === 2) return wrongIn(value, form[0], name);
    return Array.isArray(value) ? first(value, (item) => wrongIn(item, form[0], name)) : name;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return name;
  const members = value as Readonly<Record<string, unknown>>;
  return first(Object.keys(form), (key) => {
    const every = form[key] as Form;
    if (key === '*') return first(Object.entries(members), ([at, member]) => wrongIn(member, every, at));
    const at = key.replace('?', '');
    if (!Object.hasOwn(members, at)) return at === key ? at : null;
    return wrongIn(members[at], every, at);
  });
}

function isList(form: Form): form is readonly [Form] | readonly [Form, null] {
  return Array.isArray(form);
}

function first<Item>(items: readonly Item[], look: (item: Item) => string | null): string | null {
  for (const item of items) {
    const found = look(item);
    if (found !== null) return found;
  }
  return null;
}

function refuse(message: string): never {
  throw new TransportFailure('undecodable', message);
}
