/** Reads members of an unchecked request body. Each error names the member. */
import { AdapterError } from './adapter-error.ts';

export type Body = Readonly<Record<string, unknown>>;

export function objectOf(value: unknown, member: string | null = null): Body {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Body;
  throw new AdapterError(400, `${member ?? 'the body'} must be a JSON object`, member);
}

/** A member that is a text; undefined if it is missing or null. */
export function optionalText(body: Body, member: string): string | undefined {
  const value = body[member];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  throw new AdapterError(400, `${member} must be a string`, member);
}

export function requiredText(body: Body, member: string): string {
  const text = optionalText(body, member);
  if (text === undefined) throw new AdapterError(400, `${member} is required as a string`, member);
  return text;
}

/** A member that is a number, or the text of a number, as forms send it; undefined if it is missing, null or empty. */
export function optionalNumber(body: Body, member: string): number | undefined {
  const value = body[member];
  if (value === undefined || value === null || value === '') return undefined;
  const number = typeof value === 'string' ? Number(value) : value;
  if (typeof number === 'number' && Number.isFinite(number)) return number;
  throw new AdapterError(400, `${member} must be a number`, member);
}

/** A member that is a list; empty if it is missing or null. */
export function listOf(body: Body, member: string): readonly unknown[] {
  const value = body[member];
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw new AdapterError(400, `${member} must be an array`, member);
}
