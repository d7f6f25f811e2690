/** Refusals that point into a request's body. Text repeated from the body is cut and escaped, so that it is safe to print. */
import type { ErrorCode } from '@vouchbox/protocol';
import { ServiceError } from '../../ground/service-error.ts';

/** The most characters in a refusal's message, however long the client's text is. */
const messageCharsMax = 200;
const pointerCharsMax = 100;
const quotedCharsMax = 40;

/**
 * A refusal whose message starts with the JSON pointer (RFC 6901) of the faulty member. The pointer of the whole body
 * is empty; the message then starts with `the body`.
 */
export function refusal(code: ErrorCode, pointer: string, problem: string): ServiceError {
  const subject = pointer === '' ? 'the body' : cut(escaped(pointer), pointerCharsMax);
  return new ServiceError(code, cut(`${subject} ${escaped(problem)}`, messageCharsMax));
}

/** A piece of the request in quotation marks, cut to a length at which a reader still recognises it. */
export function quoted(text: string): string {
  return `"${cut(escaped(text), quotedCharsMax)}"`;
}

/**
 * Writes every character except visible ASCII and the space as `\uXXXX`: the text then has no effect on a terminal, log or page.
 */
function escaped(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function cut(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 3)}...`;
}
